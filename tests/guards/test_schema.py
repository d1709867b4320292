"""guards.schema: a model of pydantic judges arguments."""

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field

from hookbus import HookBlocked, HookError
from hookbus.guards import rate_limit, schema


class To(BaseModel):
    name: str


class Pay(BaseModel):
    model_config = ConfigDict(extra="allow")
    to: To
    amount: int = Field(gt=0, le=500)
    note: str = ""


class Read(BaseModel):
    path: str


def test_a_call_that_fits_goes_through_unchanged(call, bus):
    bus.register(schema({"pay": Pay, "read": Read}))
    call("pay", to={"name": "ada"}, amount=3)
    call("read", path="x")
    assert call.made == [("pay", {"to": {"name": "ada"}, "amount": 3}), ("read", {"path": "x"})]


@pytest.mark.parametrize(
    "arguments, said",
    [({"to": {"name": "ada"}, "amount": "3"}, "amount: Input should be a valid integer"),
     ({"to": {"name": "ada"}, "amount": 501}, "amount: Input should be less than or equal to 500"),
     ({"to": {"name": "ada"}, "amount": True}, "amount: "), ({"amount": 3}, "to: Field required"),
     ({"to": {"name": "ada"}, "amount": 3, "more": 1}, "more: Extra inputs are not permitted"),
     ({"to": {"name": "ada", "x": 1}, "amount": 3}, "to.x: Extra inputs are not permitted"),
     ({"to": {"name": "ada"}, "amount": 3.0}, "amount: "),
     ({"to": {"name": 7}, "amount": 3}, "to.name"),
     ({"to": {"name": "ada"}, "amount": float("nan")}, "valid JSON"), ({"to": {1}}, "valid JSON"),
     ([1], "arguments: "), (None, "arguments: "), ("secret", "arguments: ")],
    ids=repr,
)  # fmt: skip
def test_a_call_that_does_not_fit_is_told_by_names_and_without_values(call, bus, arguments, said):
    bus.register(schema({"pay": Pay}))
    with pytest.raises(HookBlocked) as error:
        call.given("pay", arguments)
    reason = error.value.reason
    assert said in reason and "secret" not in reason and "501" not in reason
    assert error.value.verdict.code == "schema" and call.made == []


def test_a_tool_without_a_model_is_blocked_and_one_model_is_for_all(call, bus):
    unregister = bus.register(schema({"read": Read}))
    with pytest.raises(HookBlocked, match="tool 'reed' has no schema; did you mean 'read'"):
        call("reed", path="x")
    unregister()
    bus.register(schema(Read))
    call("anything", path="x")
    with pytest.raises(HookBlocked):
        call("anything", url="x")


@pytest.mark.parametrize(
    "wrong", [{}, int, "Pay", {"pay": dict}, Pay(to=To(name="a"), amount=1), None]
)
def test_what_is_no_model_is_refused(wrong):
    with pytest.raises(HookError, match="schema"):
        schema(wrong)


class Order(pydantic.BaseModel):
    box: dict[str, str]


@pytest.mark.parametrize("box", [{1: "evil", "1": "good"}, {1: "x"}, {None: "x"}, {True: "x"}])
def test_keys_that_json_would_make_strings_are_refused(call, bus, box):
    bus.register(schema(Order))
    call("order", box={"1": "good"})
    with pytest.raises(HookBlocked, match="not valid JSON"):
        call("order", box=box)
    assert len(call.made) == 1


def test_what_would_be_written_without_end_is_refused_at_once(call, bus):
    bus.register(schema(Order))
    bus.register(rate_limit(3))
    shared = ["x"]
    for _ in range(60):
        shared = [shared, {"a": shared}]
    circle = []
    circle.append(circle)
    for bad in (shared, circle):
        with pytest.raises(HookBlocked, match="not valid JSON"):
            call("order", box=bad)
