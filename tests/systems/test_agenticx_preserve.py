"""What AgenticX's users rely on is the same on stock AgenticX, on hookbus, after it was given back,
and without AgenticX."""

import logging

import pytest

from . import agenticx_states as parts
from .agenticx_states import core_context, core_of

agx = parts.agx
kind = parts.kind


@pytest.mark.parametrize("answer", [False, None, 0, "", []])
def test_agenticx_P1_C1_C4_whatever_is_falsy_blocks_and_ends_the_asking(agx, kind, answer):
    asked = []

    def falsy(ctx):
        asked.append("falsy")
        return answer

    def later(ctx):
        asked.append("later")
        return True

    for hook in (falsy, later):
        core_of(agx, kind, "register_before_{}_call_hook")(hook)
    assert core_of(agx, kind, "execute_before_{}_call_hooks")(core_context(agx, kind)) is False
    assert asked == ["falsy"]


@pytest.mark.parametrize("answer", [True, 1, "yes"])
def test_agenticx_P1_C4_whatever_is_true_lets_it_pass(agx, kind, answer):
    def truthy(ctx):
        return answer

    core_of(agx, kind, "register_before_{}_call_hook")(truthy)
    assert core_of(agx, kind, "execute_before_{}_call_hooks")(core_context(agx, kind)) is True


def test_agenticx_P1_global_hooks_come_before_those_of_the_agent(agx, kind):
    asked = []

    def of_all(ctx):
        return asked.append("global") or True

    def of_agent(ctx):
        return asked.append("agent") or True

    core_of(agx, kind, "register_before_{}_call_hook")(of_all)
    assert (
        core_of(agx, kind, "execute_before_{}_call_hooks")(core_context(agx, kind), [of_agent])
        is True
    )
    assert (
        core_of(agx, kind, "execute_before_{}_call_hooks")(
            core_context(agx, kind), [lambda ctx: False]
        )
        is False
    )
    assert core_of(agx, kind, "execute_before_{}_call_hooks")(core_context(agx, kind)) is True
    assert asked == ["global", "agent", "global", "global"]


def test_agenticx_P1_C4_what_a_hook_raises_is_logged_and_the_call_goes_on(agx, kind, caplog):
    def broken(ctx):
        raise LookupError("no policy")

    def later(ctx):
        asked.append("later")
        return True

    asked = []
    for hook in (broken, later):
        core_of(agx, kind, "register_before_{}_call_hook")(hook)
    with caplog.at_level(logging.DEBUG):
        assert core_of(agx, kind, "execute_before_{}_call_hooks")(core_context(agx, kind)) is True
    assert asked == ["later"]
    [told] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "broken" in told.getMessage() and "no policy" in told.getMessage()
    assert told.name == f"agenticx.core.hooks.{kind}_hooks"


def test_agenticx_P2_C5_after_hooks_all_run_and_only_the_context_changes_the_result(
    agx, kind, caplog
):
    attribute = "response" if kind == "llm" else "result"
    asked = []

    def falsy(ctx):
        asked.append(getattr(ctx, attribute))
        return False

    def broken(ctx):
        raise LookupError("the log is full")

    def change(ctx):
        setattr(ctx, attribute, "changed")
        return "not a result"

    def last(ctx):
        asked.append(getattr(ctx, attribute))
        return True

    for hook in (falsy, broken, change, last):
        core_of(agx, kind, "register_after_{}_call_hook")(hook)
    context = core_context(agx, kind)
    setattr(context, attribute, "first")
    with caplog.at_level(logging.WARNING):
        assert core_of(agx, kind, "execute_after_{}_call_hooks")(context) is True
    assert (asked, getattr(context, attribute)) == (["first", "changed"], "changed")
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


def test_agenticx_P3_C3_registration_ignores_duplicates_and_unknown_hooks_and_returns_none(
    agx, kind
):
    asked = []

    class Hooks:
        def check(self, ctx):
            asked.append(1)
            return True

    hooks = Hooks()
    register = core_of(agx, kind, "register_before_{}_call_hook")
    unregister = core_of(agx, kind, "unregister_before_{}_call_hook")
    execute = core_of(agx, kind, "execute_before_{}_call_hooks")
    assert (register(hooks.check), register(hooks.check)) == (
        None,
        None,
    )  # two objects that are equal
    execute(core_context(agx, kind))
    assert asked == [1]
    assert (unregister(hooks.check), unregister(hooks.check)) == (None, None)
    execute(core_context(agx, kind))
    assert asked == [1]


def test_agenticx_C6_the_global_hooks_are_listed_by_name_and_cleared(agx, kind):
    def first(ctx):
        return True

    def second(ctx):
        return True

    core_of(agx, kind, "register_before_{}_call_hook")(first)
    core_of(agx, kind, "register_after_{}_call_hook")(second)
    assert core_of(agx, kind, "get_registered_{}_hooks")() == {
        "before": ["first"],
        "after": ["second"],
    }
    core_of(agx, kind, "clear_all_{}_hooks")()
    assert core_of(agx, kind, "get_registered_{}_hooks")() == {"before": [], "after": []}


def test_agenticx_C2_a_context_holds_what_is_known_and_is_changed_in_place(agx):
    llm = agx.core.LLMCallHookContext("me")
    assert (llm.messages, llm.iteration, llm.response, llm.tokens_used, llm.cost, llm.error) == (
        [], 0, None, None, None, None,
    )  # fmt: skip
    assert (llm.task_id, llm.model, llm.temperature, llm.max_tokens, llm.duration_ms) == (None,) * 5
    args = {"path": "a"}
    tool = agx.core.ToolCallHookContext("me", "task", "read", args, 3)
    assert (tool.result, tool.success, tool.duration_ms, tool.error, tool.iteration) == (
        None, True, None, None, 3,
    )  # fmt: skip
    assert tool.timestamp.tzinfo is None

    def sandbox(ctx):
        ctx.tool_args["path"] = "/sandbox/a"
        return True

    agx.core.register_before_tool_call_hook(sandbox)
    assert agx.core.execute_before_tool_call_hooks(tool)
    assert tool.tool_args is args and args == {"path": "/sandbox/a"}
