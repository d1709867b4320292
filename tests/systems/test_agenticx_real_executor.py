"""The real executor of AgenticX, and who registers with it, before, on and after hookbus."""

import logging

import pytest
from agenticx.collaboration.workforce.events import WorkforceEventBus
from agenticx.collaboration.workforce.hooks import (
    create_workforce_event_hooks,
    remove_workforce_event_hooks,
)
from agenticx.core.hooks import ToolCallHookContext, execute_before_tool_call_hooks
from agenticx.hooks import (
    llm_hooks,
    tool_hooks,
)  # fmt: skip

from . import agenticx_settings as parts
from .agenticx_run import (
    call,
    execute,
    finish,
    made_agent,
    made_executor,
    run,
)  # fmt: skip

setting = parts.setting


def test_agenticx_P7_B7_a_blocked_model_ends_the_task_as_if_it_were_done(setting):
    llm_hooks.register_before_llm_call_hook(lambda ctx: False)
    executor = made_executor([finish("never asked")])
    done = run(executor)
    assert (done.success, done.result, executor.llm_provider.asked) == (
        True,
        "LLM call blocked by hook",
        [],
    )


def test_agenticx_P7_B7_a_blocked_tool_is_a_failed_result_and_an_error(setting):
    ran = []
    tool_hooks.register_before_tool_call_hook(lambda ctx: ctx.tool_name != "rm")
    executor = made_executor(rm=lambda path: ran.append(path))
    with pytest.raises(ValueError) as raised:
        execute(executor, "rm", path="/")
    assert str(raised.value) == "Tool call 'rm' blocked by hook" and ran == []
    done = run(
        made_executor([call("rm", path="/"), finish("gave up")], rm=lambda path: ran.append(path))
    )
    assert done.rows == [("tool_result", False, None, "Tool call blocked by hook")] and ran == []


def test_agenticx_P6_P7_the_tool_gets_what_hooks_made_of_a_copy_of_its_arguments(setting):
    def sandbox(ctx):
        ctx.tool_input["path"] = "/sandbox" + ctx.tool_input["path"]

    tool_hooks.register_before_tool_call_hook(sandbox)
    action = {"action": "tool_call", "tool": "read", "args": {"path": "/a"}}
    executor = made_executor(read=lambda path: path)
    log = execute(executor, "read", path="/a")
    assert [
        (each.type, getattr(each, "tool_args", None) or each.result) for each in log.events
    ] == [
        ("tool_call", {"path": "/sandbox/a"}),
        ("tool_result", "/sandbox/a"),
    ]
    assert action["args"] == {"path": "/a"}


@pytest.mark.parametrize("result", [0, False, [], {"a": 1}, 6, None, ""])
def test_agenticx_P7_a_result_keeps_its_type_unless_a_hook_changed_it(setting, result):
    seen = []
    tool_hooks.register_after_tool_call_hook(lambda ctx: seen.append(ctx.tool_result))
    executor = made_executor(read=lambda: result)
    assert execute(executor, "read").events[-1].result == result
    assert seen == ["" if result is None else str(result)]
    tool_hooks.register_after_tool_call_hook(lambda ctx: f"<{ctx.tool_result}>")
    assert execute(executor, "read").events[-1].result == f"<{seen[0]}>"


def test_agenticx_P7_the_model_is_asked_what_hooks_made_of_the_messages_and_its_answer_is_theirs(
    setting,
):
    def ask_kindly(ctx):
        ctx.messages.append({"role": "system", "content": "be kind"})

    llm_hooks.register_before_llm_call_hook(ask_kindly)
    llm_hooks.register_after_llm_call_hook(lambda ctx: ctx.response.replace("secret", "***"))
    executor = made_executor([finish("the secret")])
    assert run(executor).result == "the ***"
    assert executor.llm_provider.asked[0][-1] == {"role": "system", "content": "be kind"}


def test_agenticx_P8_B6_hooks_of_an_agent_come_after_the_global_ones(setting, caplog):
    notes = []

    def broken(ctx):
        raise LookupError("no policy")

    def of(name, answer=None):
        return lambda ctx: notes.append(name) or answer

    tool_hooks.register_before_tool_call_hook(of("global before"))
    tool_hooks.register_after_tool_call_hook(of("global after"))
    llm_hooks.register_before_llm_call_hook(of("global llm"))
    agent = made_agent(
        tool_hooks={
            "before": [of("agent before", 0), broken],
            "after": [broken, of("agent after")],
        },
        llm_hooks={"before": [of("agent llm")], "after": [of("agent llm after")]},
    )
    with caplog.at_level(logging.WARNING, logger="agenticx.core.agent_executor"):
        done = run(made_executor([call("say", text="hi")], say=lambda text: text), agent)
    model = ["global llm", "agent llm", "agent llm after"]
    assert notes == [*model, "global before", "agent before", "global after", "agent after", *model]
    assert done.rows == [("tool_call", {"text": "hi"}), ("tool_result", True, "hi", None)]
    assert [
        record.getMessage() for record in caplog.records if "hook error" in record.getMessage()
    ] == [
        "Agent Tool before hook error: no policy",
        "Agent Tool after hook error: no policy",
    ]


def test_agenticx_P8_B6_a_hook_of_an_agent_blocks_with_false_and_the_next_is_not_asked(setting):
    notes = []
    agent = made_agent(
        tool_hooks={"before": [lambda ctx: False, lambda ctx: notes.append("later")]},
        llm_hooks={"before": [lambda ctx: False]},
    )
    with pytest.raises(ValueError, match="Tool call 'say' blocked by hook"):
        execute(made_executor(say=lambda text: notes.append(text)), "say", agent, text="hi")
    assert notes == [] and run(made_executor(), agent).result == "LLM call blocked by hook"


@pytest.mark.parametrize("answer", [{"any": "type"}, 0, "text", False, "3"])
def test_agenticx_P8_B6_what_an_agents_after_hook_returns_replaces_the_result_of_whatever_type(
    setting, answer
):
    seen = []
    agent = made_agent(
        tool_hooks={"after": [lambda ctx: answer, lambda ctx: seen.append(ctx.tool_result)]}
    )
    result = execute(made_executor(add=lambda: 3), "add", agent).events[-1].result
    assert (result, type(result), seen) == (answer, type(answer), [answer])


def test_agenticx_C8_D1_workforce_registers_with_core_hooks_which_publish_its_events(setting):
    bus, ran = WorkforceEventBus(), []
    hooks = create_workforce_event_hooks(bus)
    try:
        assert execute_before_tool_call_hooks(ToolCallHookContext("me", tool_name="read")) is True
        published = [each.action.name for each in bus.get_event_history()]
        execute(made_executor(read=lambda: ran.append(1)), "read")
        assert (
            [each.action.name for each in bus.get_event_history()]
            == published
            == ["TOOLKIT_ACTIVATED"]
        )
    finally:
        remove_workforce_event_hooks(hooks)
