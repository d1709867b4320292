"""The place that the tool calls of a framework come through, without a framework."""

import sys
from contextvars import Context, copy_context

import pluggy
import pytest

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters._models import hook_models
from hookbus.adapters._patches import Patches
from hookbus.adapters._streams import Forms
from hookbus.adapters._tools import Gate, ToolCall

CALL = ToolCall("pay", {"to": "eve"}, tool=object)


@pytest.fixture
def patches():
    with Patches("pluggy", pluggy.__version__) as patches:
        yield patches
    patches.restore()


def nested(outer, inner):
    """Make a call through one gate, and further inside the framework through another."""
    return outer.run(CALL, lambda arguments: inner.run(CALL, lambda given: "paid", layer=1))


def test_a_call_that_comes_through_two_gates_of_one_bus_is_asked_once(patches):
    bus, asked = Bus(), []
    bus.signal("pre_tool_call").connect(lambda tool, name: asked.append(name), role="guard")
    assert nested(Gate(patches, bus), Gate(patches, bus)) == "paid" and asked == ["pay"]


def test_the_guard_of_another_bus_is_asked_at_the_inner_gate(patches):
    outer, inner = Bus(), Bus()
    inner.signal("pre_tool_call").connect(lambda tool: Block("no"), role="guard", name="guard")
    with pytest.raises(HookBlocked, match="guard: no"):
        nested(Gate(patches, outer), Gate(patches, inner))


def test_arguments_that_a_layer_changes_on_their_way_are_asked_about_again(patches):
    bus, asked = Bus(), []
    bus.signal("pre_tool_call").connect(
        lambda tool, arguments: asked.append(dict(arguments)), role="guard"
    )
    gate = Gate(patches, bus)

    def layer(arguments):
        arguments["amount"] = 10**6
        return gate.run(ToolCall("pay", arguments, tool=CALL.tool), lambda given: "paid", layer=1)

    gate.run(ToolCall("pay", {"to": "eve"}, tool=CALL.tool), layer)
    assert asked == [{"to": "eve"}, {"to": "eve", "amount": 10**6}]


def test_a_tool_that_a_receiver_calls_in_its_turn_is_asked_about_by_the_others(patches):
    bus, tried, paid = Bus(), [], []
    gate = Gate(patches, bus)

    def run(layer):
        return gate.run(CALL, lambda arguments: paid.append(layer), layer=layer)

    @bus.signal("pre_tool_call").connect_via(role="guard", priority=1)
    def tries_it_first(tool):
        if not tried:
            tried.append("deeper")
            run(layer=1)

    bus.signal("pre_tool_call").connect(lambda tool: Block("no"), role="guard")
    with pytest.raises(HookBlocked):
        run(layer=0)
    assert tried == ["deeper"] and paid == []


@pytest.mark.parametrize("number", [1, 2])
def test_an_interrupt_right_after_a_variable_was_set_leaves_nothing_of_its_call(patches, number):
    bus, asked, left = Bus(), [], [number]
    bus.signal("pre_tool_call").connect(lambda tool, name: asked.append(name), role="guard")
    gate = Gate(patches, bus)

    def interrupt(frame, event, function):
        is_set = event == "c_return" and function.__name__ == "set"
        if is_set and "adapters" in frame.f_code.co_filename:
            left[0] -= 1
            if not left[0]:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def run():
        sys.setprofile(interrupt)
        try:
            gate.run(CALL, lambda arguments: "paid")
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        return [value for value in copy_context().values() if value is not None]

    assert Context().run(run) == [] and left == [0]


class Model:
    def __init__(self):
        self.told = []

    def whole(self, messages):
        return "".join(self.parts(messages))

    def parts(self, messages):
        self.told.append(messages)
        yield from messages


class Child(Model):
    def whole(self, messages):
        return super().whole(messages)


WORDS = {"whole": "model_call", "parts": "model_stream"}


@pytest.fixture
def bus(patches):
    bus = Bus()
    gate = Gate(patches, bus, words=("model_call", "model_stream"))
    hook_models(gate.vocabulary, Model, WORDS, Forms("".join, lambda answer: [answer]))
    return bus


def test_a_model_is_asked_about_once_through_overrides_and_methods_made_of_others(bus):
    asked = []
    for word in WORDS.values():
        bus.signal(f"pre_{word}").connect(
            lambda model, messages, word=word: asked.append(word), role="observe"
        )
    assert Child().whole("hi") == "hi" and asked == ["model_call"]


def test_a_model_that_judges_its_own_calls_is_guarded_as_it_judges(bus):
    @bus.signal("pre_model_call").connect_via(role="guard")
    def judge(model, messages):
        if messages.startswith("may I say"):  # its own question is a call of the model, too
            return None
        return Block("no") if "no" in model.parts(f"may I say {messages}?") else None

    @bus.signal("pre_model_stream").connect_via(role="guard")
    def no_secrets(model, messages):
        return Block("a secret") if "4711" in messages else None

    model = Child()
    with pytest.raises(HookBlocked, match="judge: guard failed: HookBlocked"):
        model.whole("4711")
    assert model.told == []
