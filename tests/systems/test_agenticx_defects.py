"""What is wrong with AgenticX's hooks is right in hookbus. Each test names the defect it is the
answer to."""

import asyncio
import contextvars
import functools
import inspect
import re
import subprocess
import sys
import threading

import pytest

from hookbus import (
    ANY,
    Block,
    HookBlocked,
    HookError,
    Replace,
    explain,
    hookable,
    load_plugins,
    receives,
    report,
)  # fmt: skip
from hookbus.events import Failed, Finished
from hookbus.testing import record


@pytest.fixture
def agent(bus):
    class Agent:
        def __init__(self):
            self.ran = []

        @hookable("tool", bus=bus)
        def tool(self, name, args):
            self.ran.append((name, dict(args)))
            if name == "broken":
                raise LookupError("no such file")
            return args.get("result", f"{name} done")

        @hookable("atool", bus=bus)
        async def atool(self, name, args):
            self.ran.append((name, dict(args)))
            return f"{name} done"

    return Agent()


def deny(agent, name):
    return Block("not today")


def test_agenticx_x01_a_receiver_on_a_name_that_nothing_emits_is_reported(bus, agent):
    bus.signal("pre_tol").connect(deny, role="guard")
    agent.tool("rm", {})
    text = str(report(bus))
    assert "pre_tol" in text and "did you mean 'pre_tool'" in text
    bus.signal("pre_tool").connect(deny, role="guard")
    with pytest.raises(HookBlocked):
        agent.tool("rm", {})


def test_agenticx_x02_none_means_no_decision_on_every_point_sync_and_async(bus, agent):
    for hook in ("tool", "atool"):
        for phase in ("pre", "post"):
            for role in ("modify", "guard", "observe"):
                bus.signal(f"{phase}_{hook}").connect(
                    lambda agent: None, role=role, name=f"{phase} {role}"
                )
    assert agent.tool("read", {}) == asyncio.run(agent.atool("read", {})) == "read done"


def test_agenticx_x03_an_async_guard_blocks_or_is_refused(bus, agent):
    async def policy(agent, name):
        await asyncio.sleep(0)
        return Block("not today")

    bus.signal("pre_atool").connect(policy, role="guard")
    with pytest.raises(HookBlocked, match="not today"):
        asyncio.run(agent.atool("rm", {}))
    with pytest.raises(HookError, match="async"):
        bus.signal("pre_tool").connect(policy, sender=agent, role="guard")
    assert agent.ran == []


def test_agenticx_x04_a_guard_that_raises_blocks_and_is_named(bus, agent):
    def policy(agent):
        raise LookupError("the policy file is gone")

    bus.signal("pre_tool").connect(policy, role="guard")
    with pytest.raises(HookBlocked, match="policy") as blocked:
        agent.tool("rm", {})
    assert (
        blocked.value.receiver.endswith("policy")
        and "LookupError" in str(blocked.value)
        and agent.ran == []
    )


def test_agenticx_x05_any_callable_is_a_receiver_and_a_failed_registration_leaves_no_trace(
    bus, agent
):
    class Policy:
        def __call__(self, agent, name):
            heard.append(name)

    heard = []
    bus.signal("pre_tool").connect(Policy())
    bus.signal("pre_tool").connect(
        functools.partial(lambda note, agent, name: note.append(name), heard)
    )
    with pytest.raises(HookError):
        bus.signal("pre_tool").connect(lambda agent, nmae: None, sender=agent)
    agent.tool("read", {})
    assert heard == ["read", "read"] and len(explain(agent.tool)) == 2


def test_agenticx_x06_a_receiver_that_takes_itself_out_skips_nobody(bus, agent):
    def once(agent):
        bus.signal("pre_tool").disconnect(once)

    bus.signal("pre_tool").connect(once, priority=1)
    bus.signal("pre_tool").connect(deny, role="guard")
    bus.signal("pre_tool").connect(lambda agent: None, name="last")
    with pytest.raises(HookBlocked):
        agent.tool("rm", {})
    assert "once" not in [row.receiver for row in explain(agent.tool)]


def test_agenticx_x07_a_bound_method_that_was_disconnected_is_not_listed_and_does_not_run(
    bus, agent
):
    class Policy:
        def check(self, agent):
            heard.append(1)

    heard, policy = [], Policy()
    bus.signal("pre_tool").connect(policy.check, weak=False)
    bus.signal("pre_tool").disconnect(policy.check)
    agent.tool("read", {})
    assert heard == [] and list(explain(agent.tool)) == []


def test_agenticx_x08_x18_every_path_to_a_hookable_asks_the_same_receivers_once_per_call(
    bus, agent
):
    asked = []
    bus.signal("pre_atool").connect(
        lambda agent, name: asked.append(name), role="guard", name="look"
    )

    async def all_at_once():
        await asyncio.gather(
            *(agent.atool(name, {}) for name in "abc"), asyncio.create_task(agent.atool("d", {}))
        )
        await type(agent).atool(agent, "e", {})

    asyncio.run(all_at_once())
    assert sorted(asked) == list("abcde")


def test_agenticx_x09_the_arguments_that_are_shown_are_those_that_run(bus, agent):
    seen = []
    bus.signal("pre_tool").connect(
        lambda agent, args: {"args": {**args, "path": "/sandbox"}}, name="sandbox"
    )
    bus.signal("post_tool").connect(
        lambda agent, args: seen.append(args["path"]), role="observe", name="trace"
    )
    agent.tool("read", {"path": "/etc/secret"})
    assert seen == ["/sandbox"] and agent.ran == [("read", {"path": "/sandbox"})]


def test_agenticx_x10_x11_a_failing_observer_reaches_nobody_and_stops_none_after_it(bus, agent):
    heard = []

    def broken(agent):
        raise LookupError("the log is full")

    for phase in ("pre", "post", "finally"):
        bus.signal(f"{phase}_tool").connect(
            broken, role="observe", priority=1, name=f"broken {phase}"
        )
        bus.signal(f"{phase}_tool").connect(
            lambda agent, ctx: heard.append(1), role="observe", name=f"later {phase}"
        )
    with record(bus) as fired:
        assert agent.tool("read", {}) == "read done"
    assert len(heard) == 3
    assert [(event.receiver, event.action) for event in fired.of(Failed)] == [
        ("broken pre", "isolated"), ("broken post", "isolated"), ("broken finally", "isolated"),
    ]  # fmt: skip


@pytest.mark.parametrize("answer", [False, True, "no", {"blocked": True}])
def test_agenticx_x12_an_unknown_verdict_of_a_guard_blocks_and_is_told_with_receiver_and_type(
    bus, agent, answer
):
    bus.signal("pre_tool").connect(lambda agent: answer, role="guard", name="odd")
    with record(bus) as fired, pytest.raises(HookBlocked, match="odd"):
        agent.tool("rm", {})
    [failed] = fired.of(Failed)
    assert (
        failed.receiver == "odd"
        and type(answer).__name__ in str(failed.exception)
        and agent.ran == []
    )


def test_agenticx_x12_plain_and_async_receivers_serve_the_same_hook_and_results_of_any_type_replace(
    bus, agent
):
    async def slow(agent, result):
        return {"was": result}

    bus.signal("post_atool").connect(slow, priority=1)
    bus.signal("post_atool").connect(lambda agent, result: [result], name="plain")
    assert asyncio.run(agent.atool("read", {})) == [{"was": "read done"}]


def test_agenticx_x13_a_class_receiver_has_the_methods_it_needs(bus, agent):
    class Plugin:
        @receives("pre_tool", role="guard")
        def check(self, agent, name):
            return Block("no") if name == "rm" else None

    unplug = bus.plug(Plugin())
    assert asyncio.run(agent.atool("rm", {})) == "rm done" and agent.tool("read", {}) == "read done"
    with pytest.raises(HookBlocked):
        agent.tool("rm", {})
    unplug()
    assert agent.tool("rm", {}) == "rm done"


def test_agenticx_x19_every_pre_has_one_finally_also_when_the_tool_raises(bus, agent):
    notes = []
    for phase in ("pre", "post", "error", "finally"):
        bus.signal(f"{phase}_tool").connect(
            lambda agent, ctx, phase=phase: notes.append(phase), role="observe", name=phase
        )
    with pytest.raises(LookupError):
        agent.tool("broken", {})
    agent.tool("read", {})
    assert notes == ["pre", "error", "finally", "pre", "post", "finally"]


def test_agenticx_x20_five_failing_calls_are_five_ended_spans_with_their_errors(bus, agent):
    spans = []
    bus.events.connect(
        lambda bus, event: spans.append(event) if isinstance(event, Finished) else None, weak=False
    )
    for _ in range(5):
        with pytest.raises(LookupError):
            agent.tool("broken", {})
    assert [(span.outcome, type(span.error)) for span in spans] == [("raised", LookupError)] * 5
    assert all(span.seconds >= 0 for span in spans)


def test_agenticx_x21_a_receiver_connected_twice_runs_once_and_every_connection_can_be_undone(
    bus, agent
):
    heard = []

    def hear(agent):
        heard.append(1)

    for _ in range(2):
        bus.signal("pre_tool").connect(hear)
    agent.tool("read", {})
    with bus.signal("pre_tool").connected_to(hear, agent):
        agent.tool("read", {})
    bus.signal("pre_tool").disconnect(hear)
    agent.tool("read", {})
    assert heard == [1, 1]


def test_agenticx_x22_the_order_is_told_and_an_around_is_an_onion(bus, agent):
    notes = []

    def around(name):
        def receiver(agent, call_next):
            notes.append(f"{name} in")
            result = call_next()
            notes.append(f"{name} out")
            return result

        return receiver

    bus.signal("around_tool").connect(around("inner"), name="inner")
    bus.signal("around_tool").connect(around("outer"), name="outer", priority=1)
    bus.signal("pre_tool").connect(lambda agent: notes.append("all"), name="all")
    bus.signal("pre_tool").connect(lambda agent: notes.append("mine"), sender=agent, name="mine")
    agent.tool("read", {})
    assert notes == ["mine", "all", "outer in", "inner in", "inner out", "outer out"]
    rows = [(row.receiver, row.scope) for row in explain(agent.tool)]
    assert [name for name, _ in rows] == ["mine", "all", "outer", "inner"] and rows[0][1] != rows[
        1
    ][1] == str(ANY)


def test_agenticx_x16_x23_a_plain_call_makes_no_loop_and_keeps_contextvars_inside_one(
    bus, agent, monkeypatch
):
    word = contextvars.ContextVar("word", default="")
    threads = []

    def nested(agent, name):
        threads.append(threading.current_thread())
        word.set(f"{word.get()}{name} ")
        if name == "outer":
            agent.tool("inner", {})

    def no_loop(*args, **kwargs):
        raise AssertionError("a loop was made")

    bus.signal("pre_tool").connect(nested, role="guard")

    async def inside():
        monkeypatch.setattr(asyncio, "new_event_loop", no_loop)
        agent.tool("outer", {})
        return word.get()

    assert asyncio.run(inside()) == "outer inner " and set(threads) == {threading.main_thread()}
    agent.tool("outer", {})


@pytest.mark.parametrize("result", [0, False, [], "", {"a": 1}, 6])
def test_agenticx_x25_results_of_any_type_pass_and_chain_and_after_a_veto_no_guard_runs(
    bus, agent, result
):
    asked = []
    bus.signal("post_tool").connect(lambda agent, result: None, name="watch", priority=2)
    assert agent.tool("read", {"result": result}) is result
    bus.signal("post_tool").connect(
        lambda agent, result: Replace((result, 1)), name="first", priority=1
    )
    bus.signal("post_tool").connect(lambda agent, result: Replace((*result, 2)), name="second")
    assert agent.tool("read", {"result": result}) == (result, 1, 2)
    bus.signal("pre_tool").connect(deny, role="guard", priority=1)
    bus.signal("pre_tool").connect(lambda agent: asked.append(1), role="guard", name="later")
    with pytest.raises(HookBlocked):
        agent.tool("rm", {})
    assert asked == []


@pytest.mark.parametrize("allowed", [[], ["ls"]])
def test_agenticx_x26_an_empty_allowlist_allows_nothing(bus, agent, allowed):
    bus.signal("pre_tool").connect(
        lambda agent, name: None if name in allowed else Block("not in the list"),
        role="guard",
        name="list",
    )
    with pytest.raises(HookBlocked, match="not in the list"):
        agent.tool("rm", {})


def test_agenticx_x14_a_matcher_that_never_matches_is_reported_and_predicates_say_what_globs_cannot(
    bus, agent
):
    bus.signal("pre_tool").connect(
        deny, role="guard", when=lambda name: re.fullmatch("Edit|Write", name)
    )
    with pytest.raises(HookError, match="asks for 'nmae'"):
        bus.signal("pre_tool").connect(lambda agent: None, when={"nmae": "mcp__*"}, name="typo")
    bus.signal("pre_tool").connect(
        lambda agent: None, when={"name": "Edit|Write"}, name="a glob is no regex"
    )
    with pytest.raises(HookBlocked):
        agent.tool("Write", {})
    assert agent.tool("Read", {}) == "Read done"
    assert "a glob is no regex" in str(report(bus))  # it never fired


def test_agenticx_x15_what_a_model_says_reaches_a_command_as_data(bus, agent, tmp_path):
    def command(agent, args):
        script = "import sys; print(len(sys.stdin.read()))"
        ran = subprocess.run(
            [sys.executable, "-c", script], input=args["text"], capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        lengths.append(int(ran.stdout))

    lengths = []
    bus.signal("pre_tool").connect(command, role="guard")
    attack = f"$(touch {tmp_path}/pwned); `touch {tmp_path}/pwned`"
    agent.tool("say", {"text": attack})
    assert lengths == [len(attack)] and list(tmp_path.iterdir()) == []
    assert "shell=True" not in inspect.getsource(command)


@pytest.fixture
def folder(tmp_path):
    plugin = tmp_path / "hooks" / "careful"
    plugin.mkdir(parents=True)
    manifest = 'format = 1\nid = "careful"\nversion = "1.0"\nhooks = ["pre_tool"]\n'
    (plugin / "hookbus-plugin.toml").write_text(manifest)
    (plugin / "plugin.py").write_text(
        "from hookbus import Block\n\n"
        "def no_rm(agent, name):\n    return Block('no rm') if name == 'rm' else None\n\n"
        "def register(api):\n    api.connect('pre_tool', no_rm, role='guard')\n"
    )
    return tmp_path / "hooks"


def is_guarded(agent):
    try:
        agent.tool("rm", {})
    except HookBlocked:
        return True
    return False


def test_agenticx_x13b_x24_what_is_listed_as_loaded_runs_and_there_is_one_switch(
    bus, agent, folder
):
    with load_plugins(bus, user=folder, installed=False, deny=["careful"]) as plugins:
        assert [row.status for row in plugins.rows()] != ["loaded"] and not is_guarded(agent)
    with load_plugins(bus, user=folder, installed=False) as plugins:
        assert [row.status for row in plugins.rows()] == ["loaded"] and is_guarded(agent)
        assert [row.receiver for row in explain(agent.tool)] == ["no_rm"]
    assert not is_guarded(agent)


def test_agenticx_x17_unload_and_load_brings_all_back_and_the_current_directory_is_nobodys(
    bus, agent, folder, monkeypatch
):
    monkeypatch.chdir(folder.parent)
    with load_plugins(bus, installed=False) as plugins:
        assert plugins.loaded == () and not is_guarded(agent)
    with load_plugins(bus, workspace=folder, installed=False) as plugins:
        assert plugins.loaded == () and not is_guarded(agent)
    with load_plugins(bus, user=folder, installed=False) as plugins:
        plugins.unload("careful")
        assert not is_guarded(agent)
        plugins.load("careful")
        assert is_guarded(agent)
