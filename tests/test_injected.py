"""What a framework puts among a tool's arguments stays behind the adapter, and is put back."""

import pytest

from hookbus.adapters._injected import Injected, is_written, split

STORE = object()


def test_what_the_framework_was_seen_to_put_there_is_hidden_also_where_it_is_plain():
    found = split(Injected({"amount": 1, "user": "ada"}, ["user"]), lambda: ())
    assert found.shown == {"amount": 1} and found.hidden == {"user": "ada"}


def test_a_declared_name_hides_what_no_model_can_write_and_nothing_else():
    given = {"amount": 1, "store": STORE, "user": "eve", "other": STORE}
    found = split(given, lambda: ("store", "user"))
    assert found.shown == {"amount": 1, "user": "eve", "other": STORE}
    assert found.hidden == {"store": STORE}


def test_it_comes_back_whatever_the_arguments_have_become_and_is_known_again_further_inside():
    whole = split({"amount": 1, "store": STORE}, lambda: ("store",)).whole(
        {"amount": 2, "store": "forged"}
    )
    assert whole == {"amount": 2, "store": STORE}
    assert split(whole.copy(), lambda: ()).shown == {"amount": 2}


def test_where_all_is_written_nobody_asks_a_tool_what_it_declares():
    def declared():
        raise AssertionError("this costs")

    assert split({"amount": 1, "to": ["ann", {"x": None}]}, declared).hidden == {}


@pytest.mark.parametrize(("value", "is_it"), [
    ({"a": [1, 2.5, True, None, "x"]}, True), ({1: "x"}, False), ([STORE], False),
    ((1, 2), False), (b"x", False),
])  # fmt: skip
def test_what_a_model_can_write_is_plain_data(value, is_it):
    assert is_written(value) is is_it
