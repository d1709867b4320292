"""AgenticX's own examples of hooks print the same on hookbus, and every block of the how-to page
what the page says."""

import agenticx  # noqa: F401 - what the page and the examples are about

from .pages import PageContract, printed_by


def test_the_examples_of_its_documentation_print_the_same_on_stock_and_on_hookbus():
    stock = printed_by("-W", "ignore", "-m", "tests.systems.example_agenticx", "stock")
    assert stock == printed_by("-W", "ignore", "-m", "tests.systems.example_agenticx", "hookbus")
    assert "core: bash False\n" in stock and "executor: True the [REDACTED] is out\n" in stock
    assert (
        "tool_result False None Tool call blocked by hook\n" in stock
        and "runtime: error Shell tools disabled\n" in stock
    )


class TestPage(PageContract):
    system = "agenticx"
