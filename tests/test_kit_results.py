"""The kit for adapters: the results of calls, blocked calls, and untested releases."""

import pytest

from hookbus import Bus, HookBlocked, HookError
from hookbus.adapters.kit import Adapter, Refusal, ToolCall, refused_as, shown_as
from hookbus.exceptions import HookWarning
from tests import kit_parts
from tests.kit_parts import HERE, VERSION, Tool, adapter_of, calls_of, pay, sample

installed = kit_parts.installed


# -- results ---------------------------------------------------------------------------------------


class TheirError(ValueError):
    code = None


def test_a_refusal_can_be_an_exception_of_the_framework_too(installed):
    refused = refused_as(f"{__name__}:TheirError", code=lambda refused: refused.call.name)
    adapter = Adapter("pluggy", tested=(VERSION, VERSION), refused=refused)
    adapter.tool(f"{HERE}:Tool.run", arguments="arguments")
    calls_of(installed(adapter))
    with pytest.raises(TheirError, match="Error: the call was blocked by guard: not to eve") as one:
        Tool("pay", pay).run({"amount": 1, "to": "eve"})
    assert isinstance(one.value, HookBlocked) and one.value.code == "pay"
    assert one.value.receiver == "guard"


def test_without_a_form_a_refusal_raises_hook_blocked(installed):
    adapter = Adapter("pluggy", tested=(VERSION, VERSION))
    adapter.tool(f"{HERE}:Tool.run", arguments="arguments")
    calls_of(installed(adapter))
    with pytest.raises(HookBlocked):
        Tool("pay", pay).run({"amount": 1, "to": "eve"})


def test_models_of_pydantic_are_shown_as_data_and_made_again():
    pydantic = pytest.importorskip("pydantic")
    paid = pydantic.create_model("Paid", amount=(int, ...))
    shown, packed = shown_as.pydantic
    raw = {"one": paid(amount=1), "all": [paid(amount=2)]}
    assert shown(raw) == {"one": {"amount": 1}, "all": [{"amount": 2}]}
    changed = packed(None, raw, {"one": {"amount": 5}, "all": [{"amount": 6}], "more": 1})
    assert changed == {"one": paid(amount=5), "all": [paid(amount=6)], "more": 1}
    with pytest.raises(ValueError, match="amount"):
        packed(None, paid(amount=1), {"amount": "many"})


# -- releases --------------------------------------------------------------------------------------


def test_a_newer_release_is_tested_with_the_sample_and_refused_without():
    tested = adapter_of("Tool.run", sample, ("0.0.1", "0.0.2"), arguments="arguments", layer=1)
    tested.tool(f"{HERE}:Tool.arun", arguments="arguments")
    with pytest.warns(HookWarning, match="its self-test passed .the adapter pluggy was tested"):
        tested.install(Bus())()
    without = adapter_of("Tool.run", None, ("0.0.1", "0.0.2"), arguments="arguments")
    with pytest.raises(HookError, match="sample= is not set, so the adapter has no tool to test"):
        without.install(Bus())
    deaf = Adapter("pluggy", tested=("0.0.1", "0.0.2"), sample=sample)
    with pytest.raises(HookError, match="entered the body of a tool that a guard had blocked"):
        deaf.install(Bus())


def test_an_object_that_users_put_in_place_has_a_gate_and_nothing_is_replaced():
    adapter = adapter_of("Tool.run", arguments="arguments")
    bus, before = Bus(), dict(vars(Tool))
    gate = adapter.gate(bus)
    seen = calls_of(bus)
    call = ToolCall("pay", {"to": "eve"})
    assert isinstance(call, ToolCall) and dict(vars(Tool)) == before
    assert gate.run(call, lambda arguments: {"content": "paid"})["is_error"] and len(seen) == 1


def test_a_refusal_has_the_text_the_exception_and_the_call(installed):
    found = []
    adapter = Adapter("pluggy", tested=(VERSION, VERSION), refused=found.append)
    adapter.tool(f"{HERE}:Tool.run", arguments="arguments", call_id="call_id")
    calls_of(installed(adapter))
    Tool("pay", pay).run({"amount": 1, "to": "eve"}, "c-1")
    [refused] = found
    assert isinstance(refused, Refusal) and refused.call.call_id == "c-1"
    assert refused.text == f"Error: the call was blocked by guard: {refused.blocked.reason}"
