"""AgentScope's own example of hooks prints the same on hookbus, and every block of the how-to page
what the page says."""

import agentscope  # noqa: F401 - what the page and the examples are about

from .pages import PageContract, printed_by


def test_the_example_of_its_tutorial_prints_the_same_on_stock_and_on_hookbus():
    stock = printed_by("-m", "tests.systems.example_agentscope", "stock")
    assert stock == printed_by("-m", "tests.systems.example_agentscope", "hookbus")
    assert (
        "answer: Hello, world! [instance pre_reply] [class pre_reply] [instance post_reply]\n"
        in stock
    )
    assert "sunny in London" in stock and stock.count("<pre_acting: tool_call>") == 1


class TestPage(PageContract):
    system = "agentscope"
