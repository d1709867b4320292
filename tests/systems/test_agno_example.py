"""Agno's own examples of hooks print the same on hookbus, and every block of the how-to page what
the page says."""

import agno  # noqa: F401 - what the page and the examples are about

from .pages import PageContract, printed_by


def test_the_examples_of_its_documentation_print_the_same_on_stock_and_on_hookbus():
    stock = printed_by("-m", "tests.systems.example_agno", "stock")
    assert stock == printed_by("-m", "tests.systems.example_agno", "hookbus")
    assert "calling retrieve with {'customer_id': 'c2'}\n  retrieve gave 'Grace'\n" in stock
    assert (
        "tool delete True the first customer stays\n" in stock
        and "before and after: done\n" in stock
    )
    assert "run: ERROR say please\n" in stock and "event PreHookCompleted polite\n" in stock


class TestPage(PageContract):
    system = "agno"
