"""What is special in the OpenAI Agents SDK: hand-offs, its own tools, runs that stop on a tool,
models, runs, sessions, and the private names that the adapter looks for."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from agents import (
    Agent,
    ApplyPatchTool,
    AsyncComputer,
    ComputerTool,
    LocalShellTool,
    ModelResponse,
    ModelRetrySettings,
    ModelSettings,
    RunHooks,
    Runner,
    ShellTool,
    SQLiteSession,
    ToolOutputText,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.tool import CustomTool
from openai.types.responses import (
    Response,
    ResponseApplyPatchToolCall,
    ResponseCompletedEvent,
    ResponseComputerToolCall,
    ResponseCustomToolCall,
    ResponseFunctionShellToolCall,
)
from openai.types.responses.response_output_item import LocalShellCall

from hookbus import Block, Bus, HookBlocked, HookError
from hookbus.adapters import openai_agents
from hookbus.events import Finished
from hookbus.testing import record

DONE = [assistant_message("done")]

set_tracing_disabled(True)  # it wants a key


@pytest.fixture
def on(bus):
    undo = openai_agents.install(bus)
    yield bus
    undo()


def refuse(bus, reason="not here", **when):
    asked = []

    @bus.signal("pre_tool_call").connect_via(role="guard", when=when or None, name="guard")
    def guard(tool, name, arguments, kind, caller):
        asked.append((name, arguments, kind, caller and caller.name))
        return Block(reason)

    return asked


def said(model: ScriptedModel, call: int = 1) -> str:
    """Return all that a model was told in one of its calls."""
    return repr(model.calls[call].input)


# -- hand-offs -------------------------------------------------------------------------------------


def two_agents(
    arguments: dict[str, Any] | None = None, call_id: str = "h"
) -> tuple[Any, Any, ScriptedModel]:
    inner = Agent("clerk", model=ScriptedModel([[assistant_message("I am the clerk")]]))
    hands = [function_call("transfer_to_clerk", arguments or {}, call_id=call_id)]
    model = ScriptedModel([hands, [assistant_message("then I do it")]])
    return Agent("boss", model=model, handoffs=[inner]), inner, model


async def run(agent: Any, way: str, **options: Any) -> Any:
    if way == "whole":
        return await Runner.run(agent, "go", **options)
    result = Runner.run_streamed(agent, "go", **options)
    async for _ in result.stream_events():
        pass
    return result


ways = pytest.mark.parametrize("way", ["whole", "streamed"])


@ways
async def test_a_refused_handoff_does_not_happen_and_the_model_reads_why(on, way):
    asked = refuse(on, "the clerk is away", kind="handoff")
    outer, _, model = two_agents()
    result = await run(outer, way)
    assert result.last_agent is outer and result.final_output == "then I do it"
    assert asked == [("transfer_to_clerk", {}, "handoff", "boss")]
    assert "blocked by guard: the clerk is away" in said(model)


@ways
async def test_a_handoff_whose_result_is_withheld_does_not_happen(on, way):
    on.signal("post_tool_call").connect(lambda sender: Block("no"), role="guard")
    outer, _, model = two_agents()
    assert (await run(outer, way)).last_agent is outer and "blocked by" in said(model)


async def test_a_handoff_blocked_with_a_result_tells_it_and_does_not_happen(on):
    on.signal("pre_tool_call").connect(lambda sender: Block("no", result="ask me"), role="guard")
    outer, _, model = two_agents()
    assert (await run(outer, "whole")).last_agent is outer and "ask me" in said(model)


async def test_a_handoff_that_passes_happens_and_its_message_can_be_changed(on):
    on.signal("post_tool_call").connect(lambda sender, result: result.replace("clerk", "****"))
    outer, inner, _ = two_agents()
    result = await run(outer, "whole")
    assert result.last_agent is inner and result.final_output == "I am the clerk"
    assert "****" in said(inner.model, 0) and '"assistant": "clerk"' not in said(inner.model, 0)


async def test_of_two_handoffs_at_once_the_first_is_asked_and_the_other_told_it_is_ignored(on):
    asked = refuse(on, kind="handoff")
    clerks = [Agent(name, model=ScriptedModel([DONE])) for name in ("ann", "eve")]
    hands = [function_call(f"transfer_to_{each.name}", {}, call_id=each.name) for each in clerks]
    model = ScriptedModel([hands, DONE])
    result = await run(Agent("boss", model=model, handoffs=clerks), "whole")
    assert [name for name, *_ in asked] == ["transfer_to_ann"]
    assert result.last_agent.name == "boss" and "Multiple handoffs" in said(model)


@ways
async def test_a_refused_handoff_leaves_a_session_that_goes_on(on, way):
    refuse(on, kind="handoff")
    session = SQLiteSession("s")
    outer, _, model = two_agents()
    await run(outer, way, session=session)
    model.enqueue([assistant_message("again")])
    assert (await run(outer, way, session=session)).final_output == "again"
    assert "blocked by guard" in said(model, 2)
    session.close()


# -- a run that stops on a tool --------------------------------------------------------------------


@pytest.mark.parametrize(
    "stops", ["stop_on_first_tool", {"stop_at_tool_names": ["pay"]}], ids=["first", "named"]
)
async def test_a_refusal_is_no_answer_of_a_run_that_stops_on_a_tool(on, stops):
    @function_tool
    def pay(to: str) -> str:
        return f"paid {to}"

    def agent():
        asks = [function_call("pay", {"to": "eve"}, call_id="1")]
        return Agent("a", model=ScriptedModel([asks, DONE]), tools=[pay], tool_use_behavior=stops)

    assert (await Runner.run(agent(), "go")).final_output == "paid eve"
    refuse(on)
    refused = agent()
    assert (await Runner.run(refused, "go")).final_output == "done"
    assert "blocked by guard" in said(refused.model)


# -- results and arguments in every place ----------------------------------------------------------


async def test_a_structured_result_is_shown_as_text_and_changed_in_every_place(on):
    class Hooks(RunHooks):
        async def on_tool_end(self, context, agent, tool, result):
            heard.append(result)

    @function_tool
    def look() -> list[ToolOutputText]:
        return [ToolOutputText(text="a pin"), ToolOutputText(text="4711")]

    shown, heard = [], []

    @on.signal("post_tool_call").connect_via()
    def redact(sender, result):
        shown.append(result)
        return [each.replace("4711", "****") for each in result]

    model = ScriptedModel([[function_call("look", {}, call_id="1")], DONE])
    session = SQLiteSession("s")
    result = await Runner.run(Agent("a", model=model, tools=[look]), "go", hooks=Hooks(),
                              session=session)  # fmt: skip
    left = said(model), repr(result.new_items), repr(heard), repr(await session.get_items())
    assert shown == [["a pin", "4711"]] and "{'type': 'input_text', 'text': '****'}" in left[0]
    session.close()
    assert all("****" in each for each in left) and "4711" not in "".join(left)


async def test_a_tool_reads_the_changed_arguments_in_its_context_too(on):
    seen = []

    @function_tool
    def pay(context: Any, to: str) -> str:
        raise AssertionError("not this one")

    async def body(context: Any, text: str) -> str:
        seen.append((text, context.tool_arguments))
        return "paid"

    pay.on_invoke_tool = body
    on.signal("pre_tool_call").connect(lambda sender: {"arguments": {"to": "bob"}})
    model = ScriptedModel([[function_call("pay", {"to": "eve"}, call_id="1")], DONE])
    await Runner.run(Agent("a", model=model, tools=[pay]), "go")
    assert seen == [('{"to": "bob"}', '{"to": "bob"}')]


async def test_arguments_that_are_no_json_are_asked_about_as_a_text(on):
    asked = refuse(on)

    @function_tool
    def pay(to: str) -> str:
        return "paid"

    model = ScriptedModel([[function_call("pay", "to eve", call_id="1")], DONE])
    await Runner.run(Agent("a", model=model, tools=[pay]), "go")
    assert asked == [("pay", {"input": "to eve"}, "function", "a")]


async def test_changed_arguments_of_a_tool_that_asks_for_approval_arrive(on):
    paid = []

    @function_tool(needs_approval=True)
    def pay(to: str) -> str:
        paid.append(to)
        return "paid"

    on.signal("pre_tool_call").connect(lambda sender: {"arguments": {"to": "bob"}})
    model = ScriptedModel([[function_call("pay", {"to": "eve"}, call_id="1")], DONE])
    agent = Agent("a", model=model, tools=[pay])
    state = (waiting := await Runner.run(agent, "go")).to_state()
    assert len(waiting.interruptions) == 1 and paid == []
    state.approve(waiting.interruptions[0])
    assert (await Runner.run(agent, state)).final_output == "done" and paid == ["bob"]


# -- its own tools ---------------------------------------------------------------------------------


class Editor:
    def __init__(self, ran):
        self.ran = ran

    def create_file(self, operation):
        self.ran.append(operation.path)
        return f"created {operation.path}, pin-4711"

    update_file = delete_file = create_file


class Screen(AsyncComputer):
    environment, dimensions = "browser", (10, 10)

    def __init__(self, ran):
        self.ran = ran

    async def screenshot(self):
        return "cGljdHVyZQ=="

    async def type(self, text):
        self.ran.append(text)

    async def click(self, x, y, button): ...
    async def double_click(self, x, y): ...
    async def scroll(self, x, y, scroll_x, scroll_y): ...
    async def wait(self): ...
    async def move(self, x, y): ...
    async def keypress(self, keys): ...
    async def drag(self, path): ...


def custom(ran):
    async def run(context, text):
        ran.append(text)
        return f"ran {text}, pin-4711"

    call = ResponseCustomToolCall(call_id="1", type="custom_tool_call", name="raw", input="x")
    return CustomTool("raw", "Raw.", run), call


def shell(ran):
    def run(request):
        ran.extend(request.data.action.commands)
        return f"ran {request.data.action.commands}, pin-4711"

    call = ResponseFunctionShellToolCall.model_construct(
        id="s", call_id="1", type="shell_call", status="completed",
        action={"commands": ["x"]},
    )  # fmt: skip
    return ShellTool(run), call


def local_shell(ran):
    def run(request):
        ran.extend(request.data.action.command)
        return f"ran {request.data.action.command}, pin-4711"

    call = LocalShellCall.model_validate({
        "id": "s", "call_id": "1", "type": "local_shell_call", "status": "completed",
        "action": {"type": "exec", "command": ["x"], "env": {}},
    })  # fmt: skip
    return LocalShellTool(run), call


def patch(ran):
    call = ResponseApplyPatchToolCall.model_validate({
        "id": "p", "call_id": "1", "type": "apply_patch_call", "status": "completed",
        "operation": {"type": "create_file", "path": "x", "diff": "+x"},
    })  # fmt: skip
    return ApplyPatchTool(Editor(ran)), call


def computer(ran):
    call = ResponseComputerToolCall.model_validate({
        "id": "c", "call_id": "1", "type": "computer_call", "status": "completed",
        "pending_safety_checks": [], "actions": [{"type": "type", "text": "x"}],
    })  # fmt: skip
    return ComputerTool(Screen(ran)), call


CHANGED = {
    custom: {"input": "y"},
    shell: {"commands": ["y"]},
    local_shell: {"command": ["y"]},
    patch: {"path": "y"},
    computer: {"actions": [{"type": "type", "text": "y"}]},
}
own_tools = pytest.mark.parametrize("make", CHANGED, ids=lambda make: make.__name__)


def streamed(call: Any) -> list[Any]:
    """Return what a model gives in a stream that ends with this call."""
    response = Response.model_construct(
        id="r", object="response", output=[call], usage=None, status="completed"
    )
    return [ResponseCompletedEvent.model_construct(
        type="response.completed", response=response, sequence_number=0
    )]  # fmt: skip


async def run_own(make: Any, way: str = "whole", **options: Any) -> tuple[list[str], Any, Any]:
    ran: list[str] = []
    tool, call = make(ran)
    model = ScriptedModel([ModelStep(output=[call], stream_events=streamed(call)), DONE])
    if way == "whole":
        model = ScriptedModel([[call], DONE])
    result = await run(Agent("a", model=model, tools=[tool]), way, **options)
    assert result.final_output == "done"
    return ran, model, (tool, result)


@ways
@own_tools
async def test_one_of_its_own_tools_is_refused_and_the_model_reads_why(on, make, way):
    asked = refuse(on)
    session = SQLiteSession("s")
    ran, model, _ = await run_own(make, way, session=session)
    assert ran == [] and "Error: the call was blocked by guard: not here" in said(model)
    assert [kind for _, _, kind, _ in asked] == ["function" if make is custom else "builtin"]
    assert "blocked by guard" in repr(await session.get_items())
    session.close()


@own_tools
async def test_one_of_its_own_tools_runs_with_changed_arguments(on, make):
    change = {"arguments": CHANGED[make]}
    on.signal("pre_tool_call").connect(
        lambda sender, arguments: {"arguments": {**arguments, **change["arguments"]}}
    )
    ran, _, _ = await run_own(make)
    assert ran == ["y"]


@own_tools
async def test_a_result_of_one_of_its_own_tools_is_changed_in_every_place(on, make):
    heard = []

    class Hooks(RunHooks):
        async def on_tool_end(self, context, agent, tool, result):
            heard.append(result)

    senders = []

    @on.signal("post_tool_call").connect_via()
    def redact(sender, result):
        senders.append(sender)
        return str(result).replace("4711", "****").replace("cGljdHVyZQ==", "no picture ****")

    _, model, (tool, result) = await run_own(make, hooks=Hooks())
    left = said(model), repr(result.new_items), repr(heard)
    assert senders == [tool] and "****" in left[0]
    assert not any("4711" in each or "cGljdHVyZQ==" in each for each in left)


@own_tools
async def test_one_of_its_own_tools_runs_as_before_where_nobody_is_asked(on, make):
    ran, model, _ = await run_own(make)
    assert ran == ["x"] and ("4711" in said(model) or "cGljdHVyZQ==" in said(model))


async def test_a_patch_of_several_files_is_a_call_of_each(on):
    ran: list[str] = []
    tool, call = patch(ran)
    operations = [{"type": "create_file", "path": path, "diff": "+x"} for path in ("a", "b")]
    object.__setattr__(call, "__pydantic_extra__", {"operations": operations})
    on.signal("pre_tool_call").connect(
        lambda sender, arguments: Block("not b") if arguments["path"] == "b" else None,
        role="guard",
    )
    model = ScriptedModel([[call], DONE])
    await Runner.run(Agent("a", model=model, tools=[tool]), "go")
    assert ran == ["a"] and "created a" in said(model) and "not b" in said(model)


# -- models and runs -------------------------------------------------------------------------------


@ways
async def test_every_model_call_and_every_run_is_seen_once(on, way):
    outer, _, _ = two_agents()
    with record(on) as fired:
        await run(outer, way)
    hooks = [each.hook for each in fired.of(Finished)]
    wanted = {"whole": ("model_call", "agent_run"), "streamed": ("model_call", "agent_stream")}
    assert [hooks.count(each) for each in wanted[way]] == [2, 1]


async def test_a_model_reads_changed_messages_and_options(on):
    @on.signal("pre_model_call").connect_via()
    def change(model, messages, options):
        return {
            "messages": [*messages, {"role": "user", "content": "and be kind"}],
            "options": {**options, "system_instructions": "be short"},
        }

    model = ScriptedModel([DONE])
    await Runner.run(Agent("a", model=model), "go")
    assert "and be kind" in said(model, 0) and model.calls[0].system_instructions == "be short"


@ways
async def test_a_refused_model_call_ends_the_run_with_who_and_why(on, way):
    on.signal("pre_model_call").connect(lambda sender: Block("no money left"), role="guard")
    model = ScriptedModel([DONE])
    with pytest.raises(HookBlocked, match="no money left"):
        await run(Agent("a", model=model), way)
    assert model.calls == ()


async def test_a_guard_of_the_items_of_a_stream_ends_it(on):
    on.signal("item_model_stream").connect(lambda sender: Block("no more"), role="guard")
    with pytest.raises(HookBlocked, match="no more"):
        await run(Agent("a", model=ScriptedModel([DONE])), "streamed")


@ways
async def test_a_refused_run_asks_no_model_and_whoever_reads_it_is_told(on, way):
    hook = "agent_run" if way == "whole" else "agent_stream"
    on.signal(f"pre_{hook}").connect(lambda sender: Block("closed"), role="guard")
    model = ScriptedModel([DONE])
    with pytest.raises(HookBlocked, match="closed"):
        await run(Agent("a", model=model), way)
    assert model.calls == ()


@ways
async def test_the_input_of_a_run_can_be_changed(on, way):
    hook = "agent_run" if way == "whole" else "agent_stream"
    on.signal(f"pre_{hook}").connect(lambda sender: {"input": "come"})
    model = ScriptedModel([DONE])
    result = await run(Agent("a", model=model), way)
    assert "come" in said(model, 0) and "'go'" not in said(model, 0) and result.input == "come"


async def test_a_model_that_calls_its_parents_method_is_asked_about_once(on):
    class Louder(ScriptedModel):
        async def get_response(self, *args, **kwargs):
            return await super().get_response(*args, **kwargs)

    asked = []
    on.signal("pre_model_call").connect(lambda sender: asked.append(1), role="observe", name="hear")
    await Runner.run(Agent("a", model=Louder([DONE])), "go")
    assert asked == [1]


async def test_a_model_whose_whole_answer_is_made_of_its_stream_is_asked_about_once(on):
    class Streaming(ScriptedModel):
        async def get_response(self, *args, **kwargs):
            events = [each async for each in self.stream_response(*args, **kwargs)]
            response = events[-1].response
            return ModelResponse(response.output, Usage(), response.id)

    with record(on) as fired:
        result = await Runner.run(Agent("a", model=Streaming([DONE])), "go")
    assert result.final_output == "done"
    assert [each.hook for each in fired.of(Finished)] == ["model_call", "agent_run"]


@ways
async def test_a_models_retries_do_not_ask_again_for_a_refusal(on, way):
    asked = []

    @on.signal("pre_model_call").connect_via(role="guard")
    def no(model):
        asked.append(1)
        return Block("no")

    always = ModelRetrySettings(max_retries=3, backoff={"initial_delay": 0}, policy=lambda _: True)
    settings = ModelSettings(retry=always)
    with pytest.raises(HookBlocked):
        await run(Agent("a", model=ScriptedModel([DONE]), model_settings=settings), way)
    assert asked == [1]


@ways
async def test_a_models_retries_go_on_for_what_is_no_refusal(on, way):
    always = ModelRetrySettings(max_retries=3, backoff={"initial_delay": 0}, policy=lambda _: True)
    model = ScriptedModel([OSError("once"), DONE])
    result = await run(Agent("a", model=model, model_settings=ModelSettings(retry=always)), way)
    assert result.final_output == "done" and len(model.calls) == 2


# -- names that move -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [
    "agents.tool._invoke_function_tool_with_metadata",
    "agents.tool._FunctionToolInvocationResult",
    "agents.run_internal.turn_resolution.execute_handoffs",
    "agents.run_internal.turn_resolution.check_for_final_output_from_tools",
    "agents.run_internal.turn_resolution._register_tool_call_items",
    "agents.run_internal.tool_actions.ShellAction",
    "agents.run_internal.tool_execution.execute_computer_actions",
    "agents.run_internal.run_loop.start_streaming",
])  # fmt: skip
def test_a_private_name_that_is_gone_is_named_and_nothing_is_changed(monkeypatch, name):
    home, _, attribute = name.rpartition(".")
    module = importlib.import_module(home)
    tool = importlib.import_module("agents.tool")
    before = dict(vars(tool))
    monkeypatch.delattr(module, attribute)
    with pytest.raises(HookError, match=f"no longer has {name}, which this adapter replaces"):
        openai_agents.install(Bus())
    monkeypatch.undo()
    assert dict(vars(tool)) == before
