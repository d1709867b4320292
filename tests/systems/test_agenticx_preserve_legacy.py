"""Hooks of models, tools and runtimes: what AgenticX's users rely on, in every state."""

import asyncio
import logging

import pytest

from . import agenticx_states as parts
from .agenticx_states import legacy_context, legacy_of

agx = parts.agx
kind = parts.kind


# -- hooks.llm_hooks and hooks.tool_hooks ----------------------------------------------------------


@pytest.mark.parametrize("answer", [None, 0, "", True, []])
def test_agenticx_P4_B5_only_false_vetoes(agx, kind, answer):
    legacy_of(agx, kind, "register_before_{}_call_hook")(lambda ctx: answer)
    assert legacy_of(agx, kind, "execute_before_{}_call_hooks")(legacy_context(agx, kind)) is True
    legacy_of(agx, kind, "register_before_{}_call_hook")(lambda ctx: False)
    assert legacy_of(agx, kind, "execute_before_{}_call_hooks")(legacy_context(agx, kind)) is False


def test_agenticx_P4_what_a_hook_raises_is_logged_as_a_warning_and_allows(agx, kind, caplog):
    asked = []

    def broken(ctx):
        raise LookupError("no policy")

    legacy_of(agx, kind, "register_before_{}_call_hook")(broken)
    legacy_of(agx, kind, "register_before_{}_call_hook")(lambda ctx: asked.append("later"))
    with caplog.at_level(logging.WARNING):
        assert (
            legacy_of(agx, kind, "execute_before_{}_call_hooks")(legacy_context(agx, kind)) is True
        )
    assert asked == ["later"]
    [told] = caplog.records
    assert (
        told.levelname == "WARNING"
        and f"{kind}:before_call" in told.getMessage()
        and "no policy" in told.getMessage()
    )


def test_agenticx_P5_execute_before_stops_at_the_first_veto(agx, kind):
    asked = []
    register = legacy_of(agx, kind, "register_before_{}_call_hook")
    register(lambda ctx: asked.append("first"))
    register(lambda ctx: bool(asked.append("veto")))
    register(lambda ctx: asked.append("later"))
    assert legacy_of(agx, kind, "execute_before_{}_call_hooks")(legacy_context(agx, kind)) is False
    assert asked == ["first", "veto"]


def test_agenticx_P6_B5_after_hooks_chain_text_and_none_says_that_nothing_changed(agx, kind):
    attribute = "response" if kind == "llm" else "tool_result"
    register = legacy_of(agx, kind, "register_after_{}_call_hook")
    execute = legacy_of(agx, kind, "execute_after_{}_call_hooks")

    def context(text):
        made = legacy_context(agx, kind)
        setattr(made, attribute, text)
        return made

    assert execute(context("a")) is None
    register(lambda ctx: {"not": "text"})
    register(lambda ctx: None)
    register(lambda ctx: False)
    assert execute(context("a")) is None
    register(lambda ctx: getattr(ctx, attribute) + "b")
    register(lambda ctx: getattr(ctx, attribute) + "c")
    changed = context("a")
    assert execute(changed) == "abc" and getattr(changed, attribute) == "abc"
    register(lambda ctx: "a")
    assert execute(context("a")) is None


def test_agenticx_P6_the_context_is_shared_and_what_is_put_into_it_stays(agx, kind):
    def replace(ctx):
        if kind == "llm":
            ctx.messages.append({"role": "system", "content": "be kind"})
        else:
            ctx.tool_input = {"path": "/sandbox"}
        ctx.metadata["seen"] = True

    seen = []
    legacy_of(agx, kind, "register_before_{}_call_hook")(replace)
    legacy_of(agx, kind, "register_before_{}_call_hook")(seen.append)
    context = legacy_context(agx, kind)
    assert legacy_of(agx, kind, "execute_before_{}_call_hooks")(context) is True
    assert seen[0] is context and context.metadata == {"seen": True}
    assert (
        len(context.messages) == 2 if kind == "llm" else context.tool_input == {"path": "/sandbox"}
    )


def test_agenticx_B5_hooks_are_listed_unregistered_and_counted(agx, kind):
    def hook(ctx):
        return None

    register, unregister = (
        legacy_of(agx, kind, f"{what}_before_{{}}_call_hook") for what in ("register", "unregister")
    )
    assert (register(hook), register(hook)) == (None, None)
    listed = legacy_of(agx, kind, "get_before_{}_call_hooks")()
    assert listed == [hook]
    listed.clear()
    assert legacy_of(agx, kind, "get_before_{}_call_hooks")() == [hook]
    assert (unregister(hook), unregister(hook)) == (True, False)
    for each in (lambda ctx: None, lambda ctx: None):
        register(each)
    legacy_of(agx, kind, "register_after_{}_call_hook")(hook)
    assert legacy_of(agx, kind, "get_after_{}_call_hooks")() == [hook]
    assert legacy_of(agx, kind, "clear_all_{}_call_hooks")() == (2, 1)
    register(hook)
    assert legacy_of(agx, kind, "clear_before_{}_call_hooks")() == 1
    assert legacy_of(agx, kind, "clear_after_{}_call_hooks")() == 0


# -- runtime.hooks ---------------------------------------------------------------------------------


METHODS = [
    "before_model", "after_model", "on_agent_start", "before_tool_call", "after_tool_call",
    "on_compaction", "on_agent_end",
]  # fmt: skip


def noting(agx, notes, name, **answers):
    """Make a hook that notes whatever it is asked, and answers some of it."""

    def method(what):
        async def asked(self, *args):
            notes.append((name, what, args))
            answer = answers.get(what)
            return answer(*args) if callable(answer) else answer

        return asked

    return type(name, (agx.runtime.AgentHook,), {what: method(what) for what in METHODS})()


def test_agenticx_P9_R1_R2_higher_priority_first_then_registration_and_the_same_order_after(agx):
    notes, registry = [], agx.runtime.HookRegistry()
    assert registry.has_hooks() is False and registry  # a runtime takes `hooks or HookRegistry()`
    for name, priority in (("low", -1), ("a", 0), ("b", 0), ("high", 5)):
        registry.register(noting(agx, notes, name), priority=priority)
    assert registry.has_hooks() is True

    async def turn():
        await registry.run_on_agent_start("session", "me", "hello")
        await registry.run_before_model([1], "session")
        await registry.run_after_model("answer", "session")
        await registry.run_before_tool_call("read", {"path": "a"}, "session")
        await registry.run_after_tool_call("read", "text", "session")
        await registry.run_on_compaction(3, "summary", "session")
        await registry.run_on_agent_end("bye", "session")

    asyncio.run(turn())
    every = [
        ("on_agent_start", ("session", "me", "hello")),
        ("before_model", ([1], "session")), ("after_model", ("answer", "session")),
        ("before_tool_call", ("read", {"path": "a"}, "session")),
        ("after_tool_call", ("read", "text", "session")),
        ("on_compaction", (3, "summary", "session")), ("on_agent_end", ("bye", "session")),
    ]  # fmt: skip
    assert notes == [(name, *asked) for asked in every for name in ("high", "a", "b", "low")]


def test_agenticx_P10_R3_before_model_chains_copies(agx):
    notes, registry, given = [], agx.runtime.HookRegistry(), [{"role": "user"}]
    made = ({"role": "system"}, {"role": "user"})
    registry.register(noting(agx, notes, "none"))
    registry.register(noting(agx, notes, "tuple", before_model=made))
    registry.register(
        noting(agx, notes, "more", before_model=lambda messages, session: [*messages, "more"])
    )
    result = asyncio.run(registry.run_before_model(given, None))
    assert result == [*made, "more"] and type(result) is list
    assert [type(args[0]) for _, _, args in notes] == [list, list, list] and notes[0][2][
        0
    ] is not given
    assert given == [{"role": "user"}]


def test_agenticx_P10_R4_the_first_blocked_outcome_wins_and_the_rest_is_skipped(agx):
    notes, registry = [], agx.runtime.HookRegistry()
    no = agx.runtime.HookOutcome(blocked=True, reason="not this one")
    registry.register(noting(agx, notes, "fine", before_tool_call=agx.runtime.HookOutcome()))
    registry.register(noting(agx, notes, "no", before_tool_call=no))
    registry.register(
        noting(agx, notes, "later", before_tool_call=agx.runtime.HookOutcome(True, "too late"))
    )
    assert asyncio.run(registry.run_before_tool_call("rm", {}, None)) is no
    assert [name for name, _, _ in notes] == ["fine", "no"]
    allowed = asyncio.run(agx.runtime.HookRegistry().run_before_tool_call("rm", {}, None))
    assert allowed == agx.runtime.HookOutcome(blocked=False, reason="")


def test_agenticx_P10_R5_after_tool_call_chains_text_alone(agx):
    notes, registry = [], agx.runtime.HookRegistry()
    registry.register(noting(agx, notes, "dict", after_tool_call={"not": "text"}))
    registry.register(
        noting(agx, notes, "b", after_tool_call=lambda name, result, session: result + "b")
    )
    registry.register(
        noting(agx, notes, "c", after_tool_call=lambda name, result, session: result + "c")
    )
    assert asyncio.run(registry.run_after_tool_call("read", "a", None)) == "abc"


@pytest.mark.parametrize("what", METHODS)
def test_agenticx_P11_R7_exceptions_go_out_of_the_registry_as_they_are(agx, what):
    notes, registry = [], agx.runtime.HookRegistry()
    error = LookupError("no policy")

    def fail(*args):
        raise error

    registry.register(noting(agx, notes, "broken", **{what: fail}))
    registry.register(noting(agx, notes, "later"))
    arguments = {
        "before_model": ([], None), "after_model": ("answer", None),
        "on_agent_start": (None, "me", "hello"), "before_tool_call": ("read", {}, None),
        "after_tool_call": ("read", "text", None), "on_compaction": (1, "", None),
        "on_agent_end": ("bye", None),
    }  # fmt: skip
    with pytest.raises(LookupError) as raised:
        asyncio.run(getattr(registry, f"run_{what}")(*arguments[what]))
    assert raised.value is error
    assert [name for name, _, _ in notes] == ["broken"]


def test_agenticx_P12_before_tool_call_gets_the_live_arguments(agx):
    notes, registry, arguments = [], agx.runtime.HookRegistry(), {"path": "/etc"}
    registry.register(
        noting(
            agx,
            notes,
            "sandbox",
            before_tool_call=lambda name, args, session: args.update(path="/sandbox"),
        )
    )
    registry.register(noting(agx, notes, "later"))
    asyncio.run(registry.run_before_tool_call("read", arguments, None))
    assert all(args[1] is arguments for _, _, args in notes) and arguments == {"path": "/sandbox"}


def test_agenticx_R6_the_others_only_watch(agx):
    notes, registry = [], agx.runtime.HookRegistry()
    registry.register(
        noting(
            agx,
            notes,
            "talks",
            after_model="x",
            on_agent_start="x",
            on_compaction="x",
            on_agent_end="x",
        )
    )

    async def turn():
        return [
            await registry.run_on_agent_start(None, "me", "hello"),
            await registry.run_after_model("answer", None),
            await registry.run_on_compaction(1, "", None),
            await registry.run_on_agent_end("bye", None),
        ]  # fmt: skip

    assert asyncio.run(turn()) == [None] * 4 and len(notes) == 4
