"""The kit for adapters: which calls it hooks, and what receivers see of them."""

import asyncio
from types import SimpleNamespace

import pytest

from hookbus import Block, Bus, HookError
from hookbus.adapters.kit import (
    Adapter,
    Gate,
    ToolCall,
    kind_by_class,
)
from hookbus.approvals import Store
from hookbus.testing import adapter_contract, record
from tests import kit_parts
from tests.kit_parts import (
    HERE,
    VERSION,
    Child,
    Request,
    Tool,
    adapter_of,
    calls_of,
    pay,
    sample,
    send,
)

installed = kit_parts.installed


# -- the contract ----------------------------------------------------------------------------------


CHECKED = adapter_of("Tool.run", sample, arguments="arguments", layer=1)
CHECKED.tool(f"{HERE}:Tool.arun", arguments="arguments")

TestAnAdapterOfTheKit = adapter_contract(sample, CHECKED.install)


def test_the_contract_fails_an_adapter_that_hooks_nothing():
    idle = Adapter("pluggy", tested=(VERSION, VERSION))
    tests = adapter_contract(sample, idle.install)()
    names = [name for name in dir(tests) if name.startswith("test_")]
    assert len(names) == 26 and names == [
        name for name in dir(TestAnAdapterOfTheKit) if name.startswith("test_")
    ]
    passed = [name for name in names if not fails(getattr(tests, name))]
    kinds = {name.partition("__")[0] for name in passed}
    assert kinds == {"test_without_receivers_the_tool_runs_once"}


def test_the_contract_has_its_tests_in_one_order():
    tests = adapter_contract(lambda body: sample(body)._replace(awaits=False), CHECKED.install)
    names = [name.split("__") for name in vars(tests) if name.startswith("test_")]
    plain, awaited = ([name for name, way in names if way == each]
                      for each in ("Tool_run", "Tool_arun"))  # fmt: skip
    assert plain == [name for name in awaited if name != "test_an_async_guard_is_awaited"]


def fails(test):
    try:
        test()
    except AssertionError:
        return True
    return False


def test_the_contract_fails_an_adapter_that_leaves_a_copy_of_a_changed_result():
    leaky = Adapter(
        "pluggy", tested=(VERSION, VERSION), shown=lambda raw: raw["content"],
        packed=lambda call, raw, value: {**(raw or {}), "text": value},
    )  # fmt: skip
    leaky.tool(f"{HERE}:Tool.run", arguments="arguments")
    tests = adapter_contract(sample, leaky.install)()
    with pytest.raises(AssertionError, match="the result still has 'pin-4711'"):
        tests.test_a_changed_result_leaves_no_copy_of_the_old_one__Tool_run()


# -- where a call is found -------------------------------------------------------------------------


def test_all_parameters_are_the_arguments_where_none_holds_them(installed):
    bus = installed(adapter_of("Tool.spread", call_id="call_id", kind=lambda tool: tool.name[:1]))
    seen, tool = calls_of(bus), Tool("pay", pay)
    assert tool.spread(1, call_id="c-1") == {"content": "paid 1 to ann"}
    assert "not to eve" in tool.spread(2, to="eve")["content"]
    assert seen == [
        ("pay", {"amount": 1}, "p", "c-1", None),
        ("pay", {"amount": 2, "to": "eve"}, "p", None, None),
    ]  # fmt: skip


def test_changed_arguments_take_their_places_again(installed):
    bus = installed(adapter_of("Tool.spread", call_id="call_id"))
    bus.signal("pre_tool_call").connect(
        lambda sender, arguments: {"arguments": {**arguments, "to": "bob"}}, weak=False
    )
    assert Tool("pay", pay).spread(1, "ann", call_id="c")["content"] == "paid 1 to bob"


def test_the_json_of_a_model_is_read_and_written_again_where_it_changed(installed):
    bus = installed(adapter_of("Tool.typed", arguments="text", caller="context.agent"))
    seen, tool = calls_of(bus), Tool("pay", pay)
    tool.typed('{"amount":  1}', SimpleNamespace(agent="clerk"))
    assert seen == [("pay", {"amount": 1}, "function", None, "clerk")]
    bus.signal("pre_tool_call").connect(
        lambda sender, arguments: {"arguments": {"amount": 5}}, weak=False
    )
    assert tool.typed('{"amount":  1}')["content"] == "paid 5 to ann"


def test_a_function_of_a_module_is_hooked_with_its_tool_in_a_parameter(installed):
    adapter = Adapter("pluggy", tested=(VERSION, VERSION))
    adapter.tool(
        f"{HERE}:send", name="request.tool.name", tool="request.tool", caller="by",
        arguments="request.arguments", call_id=lambda given: f"{len(given)} given",
    )  # fmt: skip
    bus = installed(adapter)
    seen = calls_of(bus)
    request = Request(Tool("pay", pay), {"amount": 1})
    bus.signal("pre_tool_call").connect(
        lambda tool, arguments: {"arguments": {**arguments, "to": tool.name}}, weak=False
    )
    assert send(request, by="clerk") == "paid 1 to pay" and request.arguments == {"amount": 1}
    assert seen == [("pay", {"amount": 1, "to": "pay"}, "function", "2 given", "clerk")]


def test_the_parts_of_a_tool_wait_for_the_guard_of_its_result(installed):
    bus = installed(adapter_of("Tool.parts", arguments="arguments"))

    async def parts():
        return [part async for part in Tool("pay", pay).parts({"amount": 1})]

    whole = [{"content": "working"}, {"content": "paid 1 to ann"}]
    assert asyncio.run(parts()) == whole
    bus.signal("post_tool_call").connect(lambda sender: Block("no"), role="guard", weak=False)
    [last] = asyncio.run(parts())
    assert last["is_error"]


def test_a_parameter_that_the_function_does_not_have_is_named_at_install():
    adapter = adapter_of("Tool.run", arguments="argumets")
    with pytest.raises(HookError, match="Tool.run has no parameter 'argumets'; its parameters are"):
        adapter.install(Bus())
    with pytest.raises(HookError, match="pluggy no longer has Tool.walk"):
        adapter_of("Tool.walk").install(Bus())
    with pytest.raises(HookError, match="pluggy no longer has Tool.walk"):
        adapter_of("Tool.walk", if_installed=True).install(Bus())
    adapter_of("Tool.walk", optional=True).install(Bus())()


# -- models, runs, and the rest --------------------------------------------------------------------


class Model:
    def ask(self, prompt, temperature=0.5):
        return "".join(self.stream(prompt, temperature))

    def stream(self, prompt, temperature=0.5):
        yield from (prompt, " is ", "4711")


class Agent:
    name = "clerk"

    def run(self, task, stream=False):
        return iter([task, "done"]) if stream else f"{task} done"

    async def arun(self, task):
        return self.run(task)


@pytest.fixture
def agents(installed):
    adapter = Adapter("pluggy", tested=(VERSION, VERSION))
    adapter.model(f"{__name__}:Model.ask").stream(
        f"{__name__}:Model.stream", whole="".join, items=lambda answer: [answer]
    )
    adapter.run(f"{__name__}:Agent.run", stream="stream")
    adapter.run(f"{__name__}:Agent.arun", agent="name", input="task", stream=False)
    return installed(adapter)


def test_a_model_is_called_whole_and_in_parts(agents):
    seen = []
    agents.signal("pre_model_call").connect(
        lambda model, messages, options: seen.append((messages, dict(options))), role="observe",
        weak=False,
    )  # fmt: skip
    agents.signal("post_model_call").connect(
        lambda model, result: result.replace("4711", "****"), on_error="block", weak=False
    )
    assert Model().ask("pin", 0.1) == "pin is ****"
    assert [*Model().stream("pin", temperature=0.2)] == ["pin is ****"]
    assert seen == [("pin", {"temperature": 0.1}), ("pin", {"temperature": 0.2})]


def test_a_run_is_one_call_and_a_stream_another(agents):
    seen = []
    for hook in ("agent_run", "agent_stream"):
        agents.signal(f"pre_{hook}").connect(
            lambda agent, input: seen.append(getattr(agent, "name", agent)) or {"input": "walk"},
            weak=False,
        )  # fmt: skip
    with record(agents) as calls:
        assert Agent().run("work") == "walk done"
        assert [*Agent().run("work", stream=True)] == ["walk", "done"]
        assert asyncio.run(Agent().arun("work")) == "walk done"
    assert seen == ["clerk"] * 3  # a run that another method of the agent makes is the same run
    assert calls.hooks == ["agent_run", "agent_stream", "agent_run"]


class Paused(Exception):
    pass


def test_an_exception_that_returns_control_is_no_failure(installed):
    def asks(amount, to="ann"):
        raise Paused

    adapter = adapter_of("Tool.run", arguments="arguments")
    adapter.pauses(Paused, "no_such_package:Gone")
    bus = installed(adapter)
    with record(bus) as calls, pytest.raises(Paused):
        Tool("pay", asks).run({"amount": 1})
    assert calls.outcomes == [("tool_call", "paused")]


def missing(name):
    return f"no tool {name}"


def test_a_replaced_function_gets_the_gate_and_what_it_replaces(installed):
    adapter = Adapter("pluggy", tested=(VERSION, VERSION))
    adapter.words("tool_call")

    @adapter.wrap(f"{__name__}:missing")
    def hooked(gate, stock, name):
        assert isinstance(gate, Gate)
        call = ToolCall(name, {}, kind="unknown")
        return gate.run(call, lambda arguments: stock(name))

    adapter.wrap(f"{__name__}:gone", optional=True)(hooked)
    bus, held = installed(adapter), globals()["missing"]
    seen = calls_of(bus)
    assert held("fly") == "no tool fly"
    assert seen == [("fly", {}, "unknown", None, None)]


def test_a_replacement_that_others_still_hold_passes_calls_through():
    adapter = Adapter("pluggy", tested=(VERSION, VERSION))
    adapter.wrap(f"{__name__}:missing")(lambda gate, stock, name: "hooked")
    uninstall = adapter.install(Bus())
    held = globals()["missing"]
    assert held("fly") == "hooked"
    uninstall()
    assert held("fly") == "no tool fly"


def test_a_hook_that_was_not_declared_is_an_error_and_not_a_call_without_guards(installed):
    adapter = Adapter("pluggy", tested=(VERSION, VERSION))
    gates = []
    adapter.also(gates.append)
    installed(adapter)
    with pytest.raises(HookError, match="does not declare it among its hooks"):
        gates[0].run(ToolCall("pay", {}), lambda arguments: "paid")


def test_a_kind_is_found_by_the_nearest_class_that_has_one():
    kind = kind_by_class({f"{HERE}.Child": "agent", "*.Tool": "mcp"})
    assert kind(Child("pay", pay)) == "agent" and kind(Tool("pay", pay)) == "mcp"
    assert kind("pay") == "function"


def test_a_store_is_refused_if_the_framework_cannot_pause_a_run(tmp_path):
    store = Store(tmp_path / "approvals.db")
    with pytest.raises(HookError, match="approver= is not possible here: pluggy cannot pause"):
        adapter_of("Tool.run", arguments="arguments").install(Bus(), approver=store)
    store.close()
