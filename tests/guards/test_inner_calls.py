"""A call made inside an equal one is the same call: counted and asked about once, judged always."""

import asyncio
import contextvars
import threading

import pytest

from hookbus import Bus, HookBlocked, baggage, hookable
from hookbus.approvals import Approved
from hookbus.guards import (
    budget,
    no_loops,
    pinned_tools,
    policy,
    provenance,
    rate_limit,
    retry,
    tool_policy,
)

from .test_pinned_tools import OTHER, bash
from .test_tool_policy import SCHEMA


class Layers:
    """Servers that are mounted in each other: each hands a call on, under its own name."""

    def __init__(self, bus, *names, inside=None):
        self.ran, self.bus = [], bus
        self.inside = inside or (lambda call, arguments: call(arguments))
        below = self._tool(names[-1], None)
        for name in reversed(names[:-1]):
            below = self._tool(name, below)
        self.call = below

    def _tool(self, name, below):
        class Tool:
            @hookable("tool_call", bus=self.bus)
            def run(tool, name, arguments):
                self.ran.append(name)
                return "done" if below is None else self.inside(below, arguments)

        return lambda arguments: Tool().run(name, dict(arguments))


class AsyncLayers(Layers):
    def __init__(self, bus, *names, inside=None):
        super().__init__(bus, *names, inside=inside)
        call = self.call
        self.call = lambda arguments: asyncio.run(call(arguments))

    def _tool(self, name, below):
        class Tool:
            @hookable("tool_call", bus=self.bus)
            async def run(tool, name, arguments):
                await asyncio.sleep(0)
                self.ran.append(name)
                if below is None:
                    return "done"
                made = self.inside(below, arguments)
                return await made if asyncio.iscoroutine(made) else made

        return lambda arguments: Tool().run(name, dict(arguments))


NAMES = "shop_bank_pay", "bank_pay", "pay"
ARGS = {"to": "ada", "sum": [1, {"a": 2}]}


@pytest.fixture(params=[Layers, AsyncLayers])
def layers(request):
    return request.param


@pytest.fixture
def asked(bus):
    questions = []

    @bus.approver
    def approve(request):
        questions.append(request.question)
        return Approved("ada")

    return questions


@pytest.mark.parametrize("names", [NAMES, ("pay", "pay", "pay"), ("mcp__bank.pay", "pay")])
def test_a_person_is_asked_once_and_it_is_counted_once(bus, layers, asked, names):
    bus.register(tool_policy(ask="*"))
    bus.register(rate_limit(2))
    bus.register(no_loops(1))
    made = layers(bus, *names)
    with baggage(session=1):
        assert made.call(ARGS) == "done" and made.call({"to": "bob"}) == "done"
        assert len(asked) == 2 and asked[0] == f"call {names[0]!r}?"
        with pytest.raises(HookBlocked) as error:
            made.call({"to": "eve"})
    assert error.value.verdict.code == "limit" and made.ran == [*names] * 2


def test_lists_judge_every_layer(bus, layers, asked):
    bus.register(tool_policy(ask="*_pay", deny="pay", default="block"))
    made = layers(bus, *NAMES)
    with pytest.raises(HookBlocked, match="tool 'pay'"):
        made.call(ARGS)
    assert made.ran == ["shop_bank_pay", "bank_pay"] and len(asked) == 1


def test_a_layer_that_was_only_allowed_takes_no_question_away(bus, layers, asked):
    bus.register(tool_policy(allow="bank_pay", ask="pay"))
    layers(bus, "bank_pay", "pay").call(ARGS)
    assert asked == ["call 'pay'?"]


@pytest.mark.parametrize(
    "names, arguments",
    [(("tidy", "pay"), None), (("repay", "pay"), None), (("pay", "bank_pay"), None),
     (("bank_pay", "pay"), {"to": "eve", "sum": [1, {"a": 2}]}), (("pay_", "pay"), None),
     (("bank_pay", "pay"), {"to": "ada", "sum": [1, {"a": 2}], "x": None}),
     (("bank_pay", "pay"), {"to": "ada", "sum": [1, {"a": 2.5}]})],
    ids=repr,
)  # fmt: skip
def test_another_tool_or_other_arguments_are_another_call(bus, layers, asked, names, arguments):
    bus.register(tool_policy(ask="*"))
    bus.register(rate_limit(1, per="user"))
    inside = lambda call, given: call(arguments or given)  # noqa: E731
    with pytest.raises(HookBlocked) as error:
        layers(bus, *names, inside=inside).call(ARGS)
    assert error.value.verdict.code == "limit"


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("given", [ARGS, {"to": "ada"}])
def test_arguments_that_the_body_changed_do_not_make_another_call_equal(
    bus, layers, asked, given, asks
):
    if asks:
        bus.register(tool_policy(ask="*"))
    bus.register(rate_limit(1))

    def inside(call, arguments):
        arguments["to"] = "eve"  # what the outer call was judged with, changed in place
        return call(arguments)

    with pytest.raises(HookBlocked):
        layers(bus, "bank_pay", "pay", inside=inside).call(given)


def test_the_second_call_in_a_row_inside_an_equal_one_is_another(bus, asked):
    bus.register(tool_policy(ask="*"))
    bus.register(rate_limit(3))

    def inside(call, arguments):
        return [call(arguments) for _ in range(5)]

    made = Layers(bus, "bank_pay", "pay", inside=inside)
    with pytest.raises(HookBlocked):
        made.call(ARGS)
    assert made.ran == ["bank_pay", "pay", "pay", "pay"]
    assert asked == ["call 'bank_pay'?", "call 'pay'?", "call 'pay'?"]


def test_a_tool_that_calls_itself_is_counted_each_time(bus):
    bus.register(rate_limit(3))

    class Tool:
        @hookable("tool_call", bus=bus)
        def run(self, name, arguments):
            return self.run(name, arguments)

    with pytest.raises(HookBlocked, match="limit of .* reached"):
        Tool().run("pay", {})


def test_two_tools_that_call_each_other_are_counted(bus):
    bus.register(rate_limit(3))
    ran = []

    class Tool:
        @hookable("tool_call", bus=bus)
        def run(self, name, arguments):
            ran.append(self)
            return self.other.run(name, arguments)

    a, b = Tool(), Tool()
    a.other, b.other = b, a
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        a.run("pay", {})
    assert len(ran) <= 6


def test_a_call_after_the_outer_one_has_ended_is_another(bus, asked):
    bus.register(tool_policy(ask="*"))
    kept = []

    def inside(call, arguments):
        kept.append((contextvars.copy_context(), call, arguments))
        return "later"

    Layers(bus, "bank_pay", "pay", inside=inside).call(ARGS)
    context, call, arguments = kept[0]
    thread = threading.Thread(target=context.run, args=(call, arguments))
    thread.start()
    thread.join()
    assert asked == ["call 'bank_pay'?", "call 'pay'?"]


def test_each_retry_of_the_outer_call_counts_and_hands_on_one_call(bus):
    bus.register(retry(ValueError, attempts=3, wait_initial=0.001, wait_max=0.001))
    bus.register(rate_limit(3))
    fails = [ValueError(), ValueError(), None]

    def inside(call, arguments):
        call(arguments)
        if error := fails.pop(0):
            raise error
        return "done"

    assert Layers(bus, "bank_pay", "pay", inside=inside).call(ARGS) == "done"


def test_a_call_between_two_equal_ones_makes_them_two(bus, asked):
    bus.register(tool_policy(ask="*pay", allow="helper"))
    between = Layers(bus, "helper", "pay")
    between.inside = lambda call, arguments: call(ARGS)
    made = Layers(bus, "bank_pay", "x")
    made.inside = lambda call, arguments: between.call({"other": 1})
    made.call(ARGS)
    assert asked == ["call 'bank_pay'?", "call 'pay'?"]


def test_provenance_asks_once(bus, asked, layers):
    bus.register(provenance({"*pay": "to"}))
    layers(bus, *NAMES).call(ARGS)
    assert len(asked) == 1


def test_a_call_inside_for_another_user_is_asked_about(bus, asked, layers):
    bus.register(tool_policy(ask="*"))

    def inside(call, arguments):
        with baggage(user="mallory"):
            made = call(arguments)
            return made if not asyncio.iscoroutine(made) else with_user(made)

    async def with_user(made):
        with baggage(user="mallory"):
            return await made

    with baggage(user="ann"):
        layers(bus, "bank_pay", "pay", inside=inside).call(ARGS)
    assert asked == ["call 'bank_pay'?", "call 'pay'?"]


def test_another_question_about_the_call_inside_is_asked(bus, asked, layers):
    takes = {"type": "object", "properties": {"to": {"type": "string"}}}
    rules = (
        '@ask("pay?") permit(principal, action, resource == Tool::"bank_pay");'
        '@ask("pay it out of the reserve?") permit(principal, action, resource == Tool::"pay");'
    )
    bus.register(policy(rules, schema=dict.fromkeys(("bank_pay", "pay"), takes)))
    layers(bus, "bank_pay", "pay").call({"to": "ada"})
    assert asked == ["pay?", "pay it out of the reserve?"]


@pytest.mark.parametrize("inner, times", [(SCHEMA, 1), (OTHER, 2)], ids=["same", "other"])
def test_the_change_of_a_tool_inside_is_asked_about(bus, asked, tmp_path, inner, times):
    @hookable("tool_call", bus=bus)
    def inside(layer, name, arguments, tool):
        return "ran"

    @hookable("tool_call", bus=bus)
    def outside(layer, name, arguments, tool):
        return inside("inner", name, arguments, *below) if below else "ran"

    bus.register(pinned_tools(tmp_path / "tools.pins"))
    below, changed = [], "Run a command at once."
    outside("outer", "bash", {}, bash())
    below.append(bash(changed, inner))
    outside("outer", "bash", {}, bash(changed))
    assert len(asked) == times


def test_a_model_call_inside_an_equal_one_uses_its_budget_once():
    bus = Bus()
    bus.register(budget(tokens=200))

    class Model:
        def __init__(self, inner=None):
            self.inner = inner

        @hookable("model_call", bus=bus)
        def ask(self, model, messages, options):
            if self.inner is not None:
                return self.inner.ask("gpt-4o", messages, options)
            return {"usage": {"input_tokens": 50, "output_tokens": 50}}

    for _ in range(2):
        Model(Model()).ask("openai/gpt-4o", [{"role": "user"}], {"max_tokens": 60})
    with pytest.raises(HookBlocked, match="200 tokens"):
        Model().ask("gpt-4o", [{"role": "user"}], {"max_tokens": 60})


def test_a_stream_has_its_inner_call_too(bus, asked):
    bus.register(tool_policy(ask="*"))

    class Server:
        @hookable("tool_call", bus=bus)
        def run(self, name, arguments):
            return "done"

    class Client:
        @hookable("tool_call", bus=bus)
        def run(self, name, arguments):
            got = yield "first"
            yield Server().run(name, arguments)
            yield got

    items = Client().run("pay", ARGS)
    assert next(items) == "first"
    Server().run("pay", ARGS)  # of the reader, between two items: another call
    assert items.send("sent") == "done" and next(items) == "sent"
    assert len(asked) == 2


def test_a_question_that_an_edited_call_no_longer_has_takes_none_away(bus):
    asked = []

    @bus.approver
    def approve(request):
        asked.append(request.question)
        edited = {**request.arguments, "arguments": {"to": "ada"}}
        return Approved("ada", arguments=edited if len(asked) == 1 else None)

    bus.register(tool_policy(allow="*", ask={"*pay": {"to": "x*"}}))
    made = Layers(bus, "bank_pay", "pay", inside=lambda call, arguments: call({"to": "x"}))
    made.call({"to": "x"})
    assert asked == ["call 'bank_pay'?", "call 'pay'?"]
