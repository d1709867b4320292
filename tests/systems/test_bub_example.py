"""Bub's own examples of hooks print the same on hookbus, and every block of the how-to page what
the page says."""

import bub  # noqa: F401 - what the page and the examples are about

from .pages import PageContract, printed_by


def test_the_examples_of_its_documentation_print_the_same_on_stock_and_on_hookbus():
    stock = printed_by("-m", "tests.systems.example_bub", "stock")
    assert stock == printed_by("-m", "tests.systems.example_bub", "hookbus")
    assert "'content': '[echo] hello'" in stock and "stream: [echo] in pieces" in stock
    assert (
        "tool: [{'kind': 'tool', 'message': 'that is not allowed'}]\n" in stock
        and "turn failed: no prompt\n" in stock
    )


class TestPage(PageContract):
    system = "bub"
