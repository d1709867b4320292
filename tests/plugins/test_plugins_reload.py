"""Unload and reload leave no trace, never fire twice, and never leave a guard's door open."""

import asyncio
import builtins
import sys
import threading

import pytest

from hookbus import Block, HookBlocked, HookError, hookable

from .conftest import assert_no_trace, plugin_modules, receivers_on, said_of, statuses

GUARD = """
def guard(agent, msg):
    from hookbus import Block
    return Block("{word}") if "bad" in msg else None

def register(api):
    api.connect("pre_reply", guard, role="guard")
    api.connect("pre_reply", lambda agent, msg: {{"msg": msg + "{word}"}}, name="stamp")
"""


def test_unload_and_load_bring_a_plugin_out_and_in(load, bus, agent, user):
    user.put("a"), user.put("b")
    plugins = load(user=user)
    plugins.unload("a")
    assert (
        statuses(plugins) == {"user:a": "unloaded", "user:b": "loaded"}
        and agent.reply("m") == "m+b"
    )
    plugins.unload("a")
    plugins.load()
    assert plugins.loaded == ("b", "a") and agent.reply("m") == "m+b+a"
    plugins.load(), plugins.load("a")
    assert agent.reply("m") == "m+b+a"


def test_disable_holds_until_enable(load, bus, agent, user):
    user.put("a"), user.put("off", more="enabled = false")
    plugins = load(user=user)
    plugins.disable("a")
    plugins.load(), plugins.load("a"), plugins.reload("a")
    assert (
        statuses(plugins) == {"user:a": "disabled", "user:off": "disabled"}
        and agent.reply("m") == "m"
    )
    plugins.enable("a"), plugins.enable("a"), plugins.enable("off")
    assert (
        statuses(plugins) == {"user:a": "loaded", "user:off": "loaded"}
        and agent.reply("m") == "m+a+off"
    )
    plugins.disable("off"), plugins.load()
    assert agent.reply("m") == "m+a"


def test_enable_lifts_no_deny_no_allow_and_no_variable(load, user, workspace, monkeypatch):
    workspace.put("w")
    for plugin in "abc":
        user.put(plugin)
    monkeypatch.setenv("HOOKBUS_PLUGINS", "a,b,w")
    plugins = load(user=user, workspace=workspace, allow=["b", "c"], deny=["b"])
    for plugin, why in {"a": "allow=", "b": "deny=", "c": "HOOKBUS_PLUGINS", "w": "allow="}.items():
        with pytest.raises(HookError, match=f"the plugin '{plugin}' cannot be enabled: {why}"):
            plugins.enable(plugin)
    with pytest.raises(HookError, match="there is no plugin 'nobody'"):
        plugins.enable("nobody")
    assert plugins.loaded == ()


def test_a_plugin_of_the_workspace_is_enabled_by_place_and_id(load, agent, workspace):
    workspace.put("w")
    plugins = load(workspace=workspace)
    with pytest.raises(HookError, match="it is in the workspace; name it 'workspace:w'"):
        plugins.enable("w")
    plugins.enable("workspace:w")
    assert agent.reply("m") == "m+w"
    plugins.unload("w")
    assert agent.reply("m") == "m"


def test_a_plugin_that_came_later_is_found(load, agent, user):
    plugins = load(user=user)
    user.put("late")
    plugins.load()
    assert agent.reply("m") == "m+late"


def test_a_refused_plugin_loads_once_it_is_mended(load, agent, user):
    user.put("a", "1 / 0")
    plugins = load(user=user)
    assert "ZeroDivisionError" in said_of("a", plugins)
    user.put("a")
    plugins.load("a")
    assert plugins.diagnostics == () and agent.reply("m") == "m+a"


def test_reload_runs_the_new_code_once_even_if_it_was_written_in_the_same_second(
    load, bus, agent, user, monkeypatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    user.put("a", mark="1")
    plugins = load(user=user)
    for mark in "23456":
        user.put("a", mark=mark)
        plugins.reload("a")
        assert agent.reply("m") == f"m{mark}"
    assert receivers_on(bus) == [("pre_reply", "a")]
    assert plugin_modules() == ["hookbus_plugin_a", "hookbus_plugin_a.plugin"]


def test_reload_reads_the_new_manifest(load, bus, agent, user):
    user.put("a")
    plugins = load(user=user)
    code = "def register(api): api.connect('post_reply', lambda agent, result: result * 2)"
    user.put("a", code, hooks=["post_reply"], version="2")
    plugins.reload("a")
    assert agent.reply("m") == "mm" and plugins.rows()[0].version == "2"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"code": "1 / 0"}, "its import raised ZeroDivisionError"),
        ({"code": "def register(api): 1 / 0"}, "register raised ZeroDivisionError"),
        ({"code": "def register(api): api.connect('post_reply', print)"}, "does not list"),
        (
            {
                "code": GUARD.format(word="!")
                + "    async def late(agent): pass\n    api.connect('pre_reply', late)"
            },
            "is async",
        ),
        ({"manifest": "format = 9"}, "has format 9"),
        ({"more": "[requires]\nplugins = ['b']"}, "requires itself: a -> b -> a"),
        ({"more": "provides.tool = ['taken']"}, "is already provided by the plugin c"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_reload_that_is_refused_leaves_the_old_one_as_it_was(
    load, bus, agent, user, change, problem
):
    user.put("a", GUARD.format(word="old"))
    user.put("b", "def register(api): pass", hooks=[], more="requires.plugins = ['a']")
    user.put(
        "c", "def register(api): api.provide('tool', 'taken', 1)", hooks=[],
        more="provides.tool = ['taken']",
    )  # fmt: skip
    plugins = load(user=user)
    before = receivers_on(bus)
    user.put("a", **change)
    plugins.reload("a")
    assert problem in said_of("a", plugins)
    assert plugins.loaded == ("a", "b", "c")
    assert plugins.rows()[0].why.startswith("its reload was refused, so the old version")
    assert receivers_on(bus) == before and agent.reply("m") == "mold"
    with pytest.raises(HookBlocked, match="old"):
        agent.reply("bad")
    assert plugin_modules()[:2] == ["hookbus_plugin_a", "hookbus_plugin_a.plugin"]
    user.put("a", GUARD.format(word="new"))
    plugins.reload("a")
    assert plugins.diagnostics == () and agent.reply("m") == "mnew"
    plugins.close()
    assert_no_trace(bus)


def test_a_reload_of_a_folder_that_is_gone_leaves_the_old_one(load, agent, user):
    home = user.put("a")
    plugins = load(user=user)
    home.rename(user.root / "_away")
    plugins.reload("a")
    assert "cannot be read" in said_of("a", plugins) and agent.reply("m") == "m+a"
    plugins.load()
    assert plugins.loaded == ("a",)
    plugins.unload("a"), plugins.load()
    assert plugins.rows() == ()


def test_an_id_does_not_change_by_reload(load, agent, user):
    user.put("a")
    plugins = load(user=user)
    user.put("b", folder="a")
    plugins.reload("a")
    assert "its id has changed from 'a' to 'b'" in said_of("a", plugins)
    assert agent.reply("m") == "m+a"


def test_cleanups_run_once_and_after_the_receivers_are_gone(load, bus, agent, user):
    user.put("a", """
        def register(api):
            api.connect("pre_reply", lambda agent, msg: {"msg": msg + "!"})
            api.provide("list", "seen", SEEN)
            api.on_unload(lambda: SEEN.append(ASK()))
        SEEN, ASK = [], lambda: None
    """, more="provides.list = ['seen']")  # fmt: skip
    plugins = load(user=user)
    seen = plugins.provided("list", "seen")
    sys.modules["hookbus_plugin_a.plugin"].ASK = lambda: agent.reply("m")
    plugins.reload("a")
    assert seen == ["m!"]
    fresh = plugins.provided("list", "seen")
    sys.modules["hookbus_plugin_a.plugin"].ASK = lambda: agent.reply("m")
    plugins.unload("a"), plugins.close()
    assert (seen, fresh) == (["m!"], ["m"])


def test_a_call_under_way_ends_with_the_receivers_it_began_with(load, bus, user):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            await asyncio.sleep(0)
            return msg

    user.put("a", """
        def register(api):
            api.connect("pre_reply", lambda agent, msg: {"msg": msg + "!"})
            api.connect("post_reply", lambda agent, result: result + "?")
    """, hooks=["pre_reply", "post_reply"])  # fmt: skip
    plugins = load(user=user)

    async def play():
        under_way = asyncio.ensure_future(Agent().reply("m"))
        await asyncio.sleep(0)
        plugins.unload("a")
        return await under_way, await Agent().reply("m")

    assert asyncio.run(play()) == ("m!?", "m")


PROBING = GUARD.format(word="+") + """
    api.connect("pre_reply", lambda agent: None, name="last", before=Probe())

class Probe:
    def __iter__(self):
        import builtins
        builtins.hookbus_test_probe()
        return iter(())
"""


def test_in_the_middle_of_a_reload_the_guard_stands_and_nothing_is_there_twice(load, agent, user):
    seen = []

    def probe():
        seen.append(agent.reply("m"))
        with pytest.raises(HookBlocked):
            agent.reply("bad")

    user.put("a", GUARD.format(word="+"))
    plugins = load(user=user)
    builtins.hookbus_test_probe = probe
    try:
        user.put("a", PROBING)
        plugins.reload("a")
    finally:
        del builtins.hookbus_test_probe
    assert plugins.diagnostics == () and len(seen) >= 3 and set(seen) == {"m+"}


def test_no_call_slips_past_a_guard_and_none_is_stamped_twice_while_its_plugin_is_reloaded(
    load, bus, agent, user
):
    user.put("a", GUARD.format(word="+"))
    plugins = load(user=user)
    results, is_over = [], threading.Event()

    def call():
        while not is_over.is_set():
            try:
                results.append(agent.reply("bad"))
            except HookBlocked:
                results.append("blocked")
            results.append(agent.reply("m"))

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    try:
        for _ in range(50):
            plugins.reload("a")
    finally:
        is_over.set()
        for caller in callers:
            caller.join()
    assert plugins.diagnostics == ()
    assert set(results) <= {"blocked", "m+", "m"} and {"blocked", "m+"} <= set(results)


def test_plugins_are_loaded_and_unloaded_by_one_thread_at_a_time(load, bus, agent, user):
    for plugin in "abcd":
        user.put(plugin)
    plugins = load(user=user)

    def play(plugin):
        for _ in range(10):
            (
                plugins.unload(plugin), plugins.load(plugin), plugins.reload(plugin),
                plugins.disable(plugin), plugins.enable(plugin),
            )  # fmt: skip

    players = [threading.Thread(target=play, args=(plugin,)) for plugin in "abcd"]
    for player in players:
        player.start()
    for player in players:
        player.join()
    assert sorted(plugins.loaded) == list("abcd") and plugins.diagnostics == ()
    assert sorted(name for _, name in receivers_on(bus)) == list("abcd")
    plugins.close()
    assert_no_trace(bus)


def test_a_receiver_may_unload_its_own_plugin(load, bus, agent, user):
    user.put("a", """
        import hookbus
        def once(agent, msg):
            PLUGINS[0].unload("a")
            return {"msg": msg + "!"}
        PLUGINS = []
        def register(api):
            api.connect("pre_reply", once)
            api.provide("list", "plugins", PLUGINS)
    """, more="provides.list = ['plugins']")  # fmt: skip
    plugins = load(user=user)
    plugins.provided("list", "plugins").append(plugins)
    assert (agent.reply("m"), agent.reply("m")) == ("m!", "m")
    assert plugins.loaded == ()


def test_what_the_host_connected_itself_stays(load, bus, agent, user):
    user.put("a")
    bus.signal("pre_reply").connect(
        lambda agent, msg: Block("no") if msg == "x+a" else None, role="guard", name="host"
    )
    with load(user=user):
        with pytest.raises(HookBlocked):
            agent.reply("x")
    assert agent.reply("x") == "x" and receivers_on(bus) == [("pre_reply", "host")]
