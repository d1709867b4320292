"""What Bub takes from pluggy, as a natural use of hookbus."""

import inspect

import pytest

from hookbus import (
    HookError,
    explain,
    hookspec,
    load_plugins,
    modes,
    receives,
    report,
)

from .bub_native_parts import folder_with
from .questions import question


def test_bub_P1_a_specification_says_its_mode_and_whether_calls_are_kept(bus):
    assert (
        question(bus, modes.firstresult, "first")() is None
        and question(bus, modes.broadcast, "every")() == []
    )
    late = question(bus, modes.void, "late", historic=True)
    late("early")
    heard = []
    late.connect(lambda message: heard.append(message), name="late")
    late.replay()
    assert heard == ["early"]


def test_bub_P2_an_implementation_names_its_question_and_its_place(bus):
    told = []

    class Plugin:
        @receives("ask", priority=-1)
        def last(self):
            told.append("last")

        @receives("ask", priority=1)
        def first(self):
            told.append("first")

        @receives("around_ask")
        def wrap(self, question, call_next):
            told.append("wrap")
            return call_next()

    asked = question(bus, modes.broadcast)
    bus.register(Plugin())
    asked()
    assert told == ["wrap", "first", "last"]
    asked.connect(lambda: None, name="last", before="first")
    with pytest.raises(HookError, match="first"):
        asked.connect(lambda: None, name="first", before="last")


def test_bub_P3_the_order_is_priority_then_connection_with_arounds_outermost(bus):
    told, asked = [], question(bus, modes.void)
    for name, priority in (("c", 0), ("a", 2), ("d", 0), ("b", 1), ("e", -1)):
        asked.connect(lambda name=name: told.append(name), priority=priority, name=name)
    bus.signal("around_ask").connect(
        lambda question, call_next: told.append("around") or call_next(), name="around"
    )
    asked()
    assert told == ["around", *"abcde"]


def test_bub_P4_none_is_never_the_first_answer(bus):
    asked = question(bus, modes.firstresult)
    for name, value in (("none", None), ("zero", 0), ("one", 1)):
        asked.connect(lambda value=value: value, name=name)
    assert asked() == 0


def test_bub_P5_P6_an_around_gets_the_result_replaces_it_and_swallows_exceptions(bus):
    asked = question(bus, modes.firstresult)

    def broken():
        raise LookupError("broken")

    asked.connect(broken, on_error="raise", name="broken")

    def around(question, call_next):
        try:
            return call_next()
        except HookError as error:
            return f"rescued from {error.__cause__!r}"

    bus.signal("around_ask").connect(around)
    bus.signal("around_ask").connect(
        lambda question, call_next: f"<{call_next()}>", priority=1, name="outer"
    )
    with pytest.raises(HookError):  # a receiver that has on_error='raise' has its way
        asked()
    asked.disconnect(broken)
    asked.connect(lambda: "answer", name="answer")
    assert asked() == "<answer>"


def test_bub_P7_late_receivers_are_asked_what_was_asked_before_with_their_answers(bus):
    asked = question(bus, modes.broadcast, historic=True)
    asked("one")
    asked("two")
    asked.connect(lambda message: message.upper(), name="late")
    assert [answers.result for answers in asked.replay()] == [
        ["ONE"],
        ["TWO"],
    ] and asked.replay() == ()


def test_bub_P8_a_receiver_for_one_block(bus):
    asked = question(bus, modes.broadcast)
    with asked.connected_to(lambda: "extra"):
        assert asked() == ["extra"]
    assert asked() == []


def test_bub_P9_receivers_can_be_kept_out_for_a_while(bus):
    asked = question(bus, modes.broadcast)
    connection = asked.connected_to(lambda: "a", name="a")
    asked.connect(lambda: "b", name="b")
    connection.disable()
    assert asked() == ["b"]
    connection.enable()
    with asked.muted():
        assert asked() == []
    assert asked() == ["a", "b"]


def test_bub_P10_names_are_checked_before_anything_is_connected(bus):
    asked = question(bus, modes.broadcast)

    class Plugin:
        @receives("ask")
        def good(self, message): ...

        @receives("ask")
        def typo(self, mesage): ...

    with pytest.raises(HookError, match="'mesage'.*did you mean 'message'"):
        bus.register(Plugin())
    assert asked.signal.connections() == []


def test_bub_P11_a_receiver_that_nobody_asks_is_pending_with_the_closest_name(bus):
    question(bus, modes.broadcast, "load_state")
    bus.signal("load_stat").connect(lambda message: None, name="typo")
    assert any(
        "load_stat" in finding and "load_state" in finding for finding in report(bus).findings
    )


def test_bub_P12_the_calls_value_goes_before_the_specs_default_and_that_before_the_receivers(bus):
    asked, seen = question(bus, modes.void), []
    asked.connect(lambda message="mine", other="kept": seen.append((message, other)), name="look")
    asked("given")
    asked()
    assert seen == [("given", "kept"), ("hi", "kept")]


def test_bub_P13_a_wrong_call_is_the_type_error_of_a_function(bus):
    def ask(message): ...

    asked = hookspec(modes.broadcast, bus=bus)(ask)
    for wrong in ({}, {"mesage": 1}, {"message": 1, "more": 2}):
        with pytest.raises(TypeError):
            asked(**wrong)
    assert str(inspect.signature(asked)) == "(message)"


def test_bub_P14_a_plugin_is_plugged_and_unplugged_as_a_whole(bus):
    asked = question(bus, modes.broadcast)

    class Plugin:
        @receives("ask")
        def answer(self):
            return "plugged"

    unregister = bus.register(Plugin())
    assert asked() == ["plugged"]
    unregister()
    unregister()
    assert asked() == []


def test_bub_P15_a_plugin_is_blocked_by_name_before_its_code_runs(bus, tmp_path):
    asked = question(bus, modes.broadcast)
    with load_plugins(bus, user=folder_with(tmp_path, "one", "two"), deny=["two"]):
        assert asked() == ["one"]


def test_bub_P16_P18_plugins_are_found_listed_and_named(bus, tmp_path):
    asked = question(bus, modes.broadcast)
    with load_plugins(bus, user=folder_with(tmp_path, "one")):
        assert [row.plugin for row in explain(asked)] == ["one"] and "one" in str(report(bus))
        [connection] = asked.signal.connections()
        assert bus.hook_names() == ["ask"] and connection.where.endswith("plugin.py:2")


def test_bub_P17_every_call_is_told_and_a_broken_listener_hurts_nobody(bus, caplog):
    asked, told = question(bus, modes.broadcast), []
    bus.events.connect(lambda bus, event: {}["broken"], name="broken")
    bus.events.connect(lambda bus, event: told.append(type(event).__name__), name="fine")
    asked.connect(lambda: 1, name="one")
    assert asked() == [1] and told == ["Started", "Finished"]


def test_bub_P19_plugging_runs_no_property_and_sees_static_and_class_methods(bus):
    asked = question(bus, modes.broadcast)

    class Plugin:
        @property
        def never(self):
            raise AssertionError("it was looked at")

        @staticmethod
        @receives("ask")
        def static():
            return "static"

        @classmethod
        @receives("ask")
        def of_class(cls):
            return cls.__name__

    bus.register(Plugin())
    assert asked() == ["static", "Plugin"]


def test_bub_P20_who_is_connected_during_a_call_is_asked_from_the_next_one_on(bus):
    asked = question(bus, modes.broadcast)

    def connecting():
        asked.connect(lambda: "late", name="late")
        return "connecting"

    asked.connect(connecting, name="connecting")
    assert asked() == ["connecting"] and asked() == ["connecting", "late"]
