"""Loading is a transaction: everything of a plugin is connected, or nothing is, and a diagnostic
says why.
"""

import gc
import os
import sys
import weakref

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, default_bus, load_plugins, report
from hookbus.plugins import PluginApi

from .conftest import assert_no_trace, plugin_modules, receivers_on, said_of, statuses

STEP = "def step(agent): pass\n"

BROKEN = {
    "its import raised RuntimeError at ": "raise RuntimeError('SECRET')",
    "its import raised ModuleNotFoundError (No module named 'no_such_module')":
        "import no_such_module",
    "its import raised SyntaxError ('(' was never closed (plugin.py, line 1)) at ":
        "def register(api:",
    "its import raised SystemExit": "raise SystemExit(3)",
    "its import raised ZeroDivisionError": "from . import part",
    "hookbus_plugin_odd.plugin has no register": "def registre(api): pass",
    "register is not a plain function": "async def register(api): pass",
    "plugin:register is not a plain function": "def register(api): yield",
    "hookbus_plugin_odd.plugin:register is not a plain function": "register = 3",
    "register is async or a generator":
        "async def later(api): pass\ndef register(api): return later(api)",
    "register raised KeyError at ": "def register(api): raise KeyError('SECRET')",
    "register raised SystemExit": "def register(api): raise SystemExit('SECRET')",
    "register cannot be called with an api (too many positional arguments)": "def register(): pass",
    "register raised HookError (a signal's name must be an identifier":
        "def register(api): api.connect('pre-reply', print)",
    "register raised HookError (3 cannot be connected to pre_reply: it is not callable) at ":
        "def register(api): api.connect('pre_reply', 3)",
    "register raised HookError (role='gard' is not valid; did you mean 'guard'?": STEP
    + "def register(api): api.connect('pre_reply', step, role='gard')",
    "register raised HookError (connect has no option 'prority'; did you mean 'priority'": STEP
    + "def register(api): api.connect('pre_reply', step, prority=1)",
    "register raised HookError (the plugin odd provides the tool 'x' twice)":
        "def register(api): [api.provide('tool', 'x', n) for n in '12']",
    "register raised HookError (object at ": "def register(api): api.register(object())",
    "parameter 'mgs', which reply does not have; did you mean 'msg'": "def step(agent, mgs): pass\n"
    + "def register(api): api.connect('pre_reply', step)",
    "is async, but reply is a plain def":
        "async def step(agent): pass\ndef register(api): api.connect('pre_reply', step)",
    "has role='modify', but the phase 'finally' takes observe": STEP
    + "def register(api): api.connect('finally_reply', step, role='modify')",
    "step connects to post_reply, which its manifest does not list in hooks; did you mean 'pre_re":
        STEP + "def register(api): api.connect('post_reply', step)",
    "it provides the tool 'y', which its manifest does not list in provides":
        "def register(api): api.provide('tool', 'y', 1)",
    "was connected to pre_reply without the api": STEP
    + "import hookbus\nhookbus.signal('pre_reply').connect(step)\ndef register(api): pass",
    "was connected to events without the api": "import hookbus\ndef told(bus, event): pass\n"
    + "hookbus.default_bus.events.connect(told)\ndef register(api): pass",
}  # fmt: skip


@pytest.mark.parametrize("problem", BROKEN)
def test_a_broken_plugin_is_refused_whole_and_the_others_load(load, bus, agent, user, problem):
    home = user.put(
        "odd", BROKEN[problem], more="[provides]\ntool = ['x']",
        hooks=["pre_reply", "finally_reply"],
    )  # fmt: skip
    (home / "part.py").write_text("1 / 0")
    user.put("a"), user.put("z")
    meta_path = list(sys.meta_path)
    plugins = load(user=user)
    assert statuses(plugins) == {"user:a": "loaded", "user:odd": "refused", "user:z": "loaded"}
    said = said_of("odd", plugins)
    assert problem in said and str(home / "hookbus-plugin.toml") in said and "; " in said
    assert (
        "SECRET" not in said + str(report(bus)) + report(bus)._repr_html_() + plugins._repr_html_()
    )
    assert agent.reply("m") == "m+a+z"
    assert plugin_modules() == [
        f"hookbus_plugin_{name}" for name in ("a", "a.plugin", "z", "z.plugin")
    ]
    plugins.close()
    assert_no_trace(bus), assert_no_trace(default_bus)
    assert sys.meta_path == meta_path


def test_a_syntax_error_is_told_with_the_plugins_own_file_and_line(load, user):
    home = user.put("odd", "\n\ndef register(api:")
    assert f" at {home / 'plugin.py'}:3" in said_of("odd", load(user=user))


def test_the_traceback_of_the_plugin_is_there_for_who_asks(load, user):
    user.put("odd", "def register(api):\n    raise KeyError('the details')")
    [said] = load(user=user).diagnostics
    assert "the details" in said.traceback and "plugin.py" in said.traceback
    assert "the details" not in repr(said)


HALFWAY = """
import os
import pathlib
LOG = pathlib.Path(__file__).with_name("log")

def first(agent, msg): return {"msg": "first"}
def second(agent, msg): return {"msg": "second"}
async def third(agent, msg): return None

def clean(word):
    with LOG.open("a") as log: log.write(word + " ")

def register(api):
    api.on_unload(lambda: clean("one"))
    api.on_unload(lambda: 1 / 0)
    api.on_unload(lambda: clean("two"))
    for receiver in (first, os.path.normpath, second, third):
        api.connect("pre_reply", receiver)
"""


def test_where_one_connection_fails_all_are_undone_and_cleanups_run_the_last_first(
    load, bus, agent, user
):
    home = user.put("odd", HALFWAY)
    plugins = load(user=user)
    said = said_of("odd", plugins)
    assert (
        "third" in said
        and "its cleanup register.<locals>.<lambda> raised ZeroDivisionError" in said
    )
    assert agent.reply("m") == "m"
    assert (home / "log").read_text() == "two one "
    assert_no_trace(bus)


def test_nothing_is_connected_while_register_runs(load, bus, agent, user):
    user.put("a", """
        def guard(agent): raise ValueError
        def register(api):
            api.connect("pre_reply", guard, role="guard")
            api.connect("pre_reply", lambda agent: None, name="seen")
            import builtins
            builtins.hookbus_test_probe()
    """)  # fmt: skip
    import builtins

    seen = []
    builtins.hookbus_test_probe = lambda: seen.append((agent.reply("m"), receivers_on(bus)))
    try:
        load(user=user)
    finally:
        del builtins.hookbus_test_probe
    assert seen == [("m", [])]
    with pytest.raises(HookBlocked):
        agent.reply("m")


@pytest.mark.parametrize("where", ["", "def register(api):\n    "])
def test_an_interrupt_passes_and_leaves_nothing(load, bus, agent, user, where):
    user.put("a"), user.put("b", f"{where}raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load(user=user)
    assert bus.plugins is None and agent.reply("m") == "m"
    assert_no_trace(bus)


def test_a_plugin_registers_receivers_provides_things_and_reads_its_settings(
    load, bus, agent, user
):
    user.put("full", """
        from hookbus import Block, receives

        class Plugin:
            def __init__(self, api): self.limit = api.settings["limit"]

            @receives("pre_reply", role="guard")
            def short(self, agent, msg):
                return Block("too long") if len(msg) > self.limit else None

            @receives("post_reply")
            def loud(self, agent, result): return result.upper()

        def register(api):
            assert (api.id, api.version) == ("full", "2.1")
            assert dict(api.settings) == {"limit": 3, "tags": ["x"]}
            def log(bus, event):
                api.provided("service", "log").append(type(event).__name__)

            api.register(Plugin(api))
            api.connect("events", log)
            api.provide("tool", "search", len)
            api.provide("service", "log", [])
    """, hooks=["pre_reply", "post_reply", "events"], version="2.1", more="""
        [provides]
        tool = ["search"]
        service = ["log"]
        [settings.limit]
        type = "integer"
        default = 9
        [settings.tags]
        type = "array"
        default = ["x"]
    """)  # fmt: skip
    plugins = load(user=user, settings={"full": {"limit": 3}})
    assert plugins.diagnostics == ()
    assert agent.reply("abc") == "ABC"
    with pytest.raises(HookBlocked, match="too long"):
        agent.reply("abcd")
    assert plugins.provided("tool", "search") is len and plugins.all_provided("tool") == {
        "search": len
    }
    assert plugins.provided("service", "log")[0] == "Started"
    with pytest.raises(
        HookError, match="no loaded plugin provides the tool 'serch'; did you mean 'search'"
    ):
        plugins.provided("tool", "serch")
    [row] = plugins.rows()
    assert (row.receivers, row.provides, row.version) == (3, "tool:search, service:log", "2.1")
    plugins.unload("full")
    assert agent.reply("abcd") == "abcd" and plugins.all_provided("tool") == {}
    assert_no_trace(bus)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"limit": "3", "key": "k"},
            "the setting limit (the operator's) is a str, but must be of type integer",
        ),
        ({"limit": True, "key": "k"}, "is a bool, but must be of type integer"),
        ({"limit": 0, "key": "k"}, "is below the minimum; set 1 or more"),
        ({"mode": "fats", "key": "k"}, "is not allowed; choose one of 'fast', 'slow'"),
        ({"ratio": float("nan"), "key": "k"}, "is above the maximum"),
        ({"limt": 3, "key": "k"}, "the plugin has no setting 'limt'; did you mean 'limit'"),
        ({}, "the setting 'key' is required"),
    ],
)
def test_settings_are_checked_against_the_manifest_before_the_code_is_imported(
    load, user, given, problem
):
    user.put("a", "raise AssertionError", more="""
        [settings]
        limit = {type = "integer", minimum = 1}
        mode = {type = "string", choices = ["fast", "slow"], default = "fast"}
        ratio = {type = "number", maximum = 1}
        key = {type = "string", required = true}
    """)  # fmt: skip
    assert problem in said_of("a", load(user=user, settings={"a": given}))


def test_a_plugin_cannot_change_the_operators_settings(load, user):
    user.put("a", """
        def register(api):
            api.settings["tags"].append("mine")
            api.settings["tags"] = []
    """, more="settings.tags = {type = 'array'}")  # fmt: skip
    given = {"a": {"tags": ["yours"]}}
    assert "register raised TypeError" in said_of("a", load(user=user, settings=given))
    assert given == {"a": {"tags": ["yours"]}}


PROVIDER = "def register(api): api.provide('tool', 'search', api.id)"


def test_a_second_owner_of_a_name_is_refused_without_importing_it_and_the_first_is_named(
    load, user
):
    first = user.put("a", PROVIDER, more="provides.tool = ['search']")
    user.put("b", "raise AssertionError", more="provides.tool = ['search']")
    user.put(
        "c", "def register(api): api.provide('command', 'search', api.id)",
        more="provides.command = ['search']",
    )  # fmt: skip
    plugins = load(user=user)
    assert plugins.loaded == ("a", "c")
    assert (
        f"the tool 'search' is already provided by the plugin a ({first / 'hookbus-plugin.toml'})"
        in said_of("b", plugins)
    )
    assert plugins.provided("tool", "search") == "a"
    user.put("b", PROVIDER, more="provides.tool = ['search']")
    plugins.unload("a"), plugins.load("b")
    assert plugins.provided("tool", "search") == "b"


def test_a_receiver_that_somebody_else_connected_is_not_replaced(load, bus, agent, user):
    bus.signal("pre_reply").connect(os.path.join, role="guard", name="the host's guard")
    user.put(
        "a", "import os\ndef register(api): api.connect('pre_reply', os.path.join, role='observe')"
    )
    assert "the host's guard" in said_of("a", load(user=user))
    assert [receiver.role for receiver in bus.signal("pre_reply").connections()] == ["guard"]


def test_what_the_manifest_promises_and_register_does_not_keep_is_said(load, bus, user):
    user.put("a", "def register(api): pass", more="provides.tool = ['x']")
    plugins = load(user=user)
    said = [str(said) for said in plugins.diagnostics]
    assert plugins.loaded == ("a",) and len(said) == 2
    assert (
        "lists pre_reply, but it connected nothing to that signal" in said[0]
        and "lists the tool 'x'" in said[1]
    )
    assert set(said) <= set(report(bus).findings)


def test_the_api_is_closed_once_register_has_returned(load, user):
    user.put(
        "a", "def register(api): api.provide('api', 'api', api)", hooks=[],
        more="provides.api = ['api']",
    )  # fmt: skip
    api = load(user=user).provided("api", "api")
    assert isinstance(api, PluginApi)
    for late in (
        lambda: api.connect("pre_reply", print), lambda: api.provide("tool", "x", 1),
        lambda: api.on_unload(print),
    ):  # fmt: skip
        with pytest.raises(
            HookError, match="the plugin a has already registered: make requests inside register"
        ):
            late()


def test_a_plugin_cannot_load_or_unload_plugins_while_it_registers(load, bus, user):
    user.put("a")
    user.put(
        "b", "def register(api): api.settings['x']", hooks=[],
        more="settings.x = {type = 'string', default = ''}",
    )  # fmt: skip
    user.put(
        "c", "from hookbus import default_bus\ndef register(api): default_bus.plugins.unload('a')",
        hooks=[],
    )  # fmt: skip
    plugins = load(bus=default_bus, user=user)
    assert plugins.loaded == ("a", "b") and "while one of them registers" in said_of("c", plugins)


def test_a_plugin_uses_what_the_one_it_requires_provides(load, user):
    user.put("a", """
        def register(api):
            api.provide("tool", "double", lambda text: api.provided("tool", "echo")(text) * 2)
            assert api.provided("tool", "echo")("x") == "x"
    """, hooks=[], more="provides.tool = ['double']\nrequires.plugins = ['z']")  # fmt: skip
    user.put(
        "z", "def register(api): api.provide('tool', 'echo', lambda text: text)", hooks=[],
        more="provides.tool = ['echo']",
    )  # fmt: skip
    plugins = load(user=user)
    assert plugins.loaded == ("z", "a") and plugins.provided("tool", "double")("x") == "xx"
    for take_out in (plugins.unload, plugins.disable):
        with pytest.raises(HookError, match="the plugin 'z' is required by a: unload that first"):
            take_out("z")
    plugins.unload("a"), plugins.unload("z")
    assert plugins.loaded == ()


def test_the_modules_of_a_folder_import_each_other_and_leave_no_bytecode(
    load, bus, agent, user, monkeypatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    home = user.put("web-search", """
        from .tools import mark
        from .tools.deep import stamp
        def register(api): api.connect("pre_reply", stamp)
    """)  # fmt: skip
    (home / "tools").mkdir()
    (home / "tools" / "__init__.py").write_text("mark = '!'")
    (home / "tools" / "deep.py").write_text(
        "from . import mark\ndef stamp(agent, msg): return {'msg': msg + mark}"
    )
    (home / "__init__.py").write_text("loaded = True")
    plugins = load(user=user)
    assert agent.reply("m") == "m!"
    assert plugin_modules() == [
        f"hookbus_plugin_web_search{name}" for name in ("", ".plugin", ".tools", ".tools.deep")
    ]  # fmt: skip
    plugins.close()
    assert_no_trace(bus)
    assert list(home.rglob("*.pyc")) == []


def test_the_entry_of_a_folder_may_have_any_name(load, user):
    home = user.put("a", "raise AssertionError", more="entry = 'inner.main:start'", hooks=[])
    (home / "inner").mkdir()
    (home / "inner" / "main.py").write_text("def start(api): pass")
    assert load(user=user).loaded == ("a",)
    user.put("a", "", more="entry = 'absent:start'", hooks=[])
    plugins = load(bus=Bus(), user=user)
    assert "hookbus_plugin_a_2.absent does not exist; correct entry" in said_of("a", plugins)


def test_two_buses_load_the_same_folder_apart(load, user):
    code = "calls = []\ndef register(api): api.provide('list', 'calls', calls)"
    user.put("a", code, hooks=[], more="provides.list = ['calls']")
    one, two = load(bus=Bus(), user=user), load(bus=Bus(), user=user)
    assert one.provided("list", "calls") is not two.provided("list", "calls")
    assert "hookbus_plugin_a_2.plugin" in plugin_modules()
    one.close()
    assert plugin_modules() == ["hookbus_plugin_a_2", "hookbus_plugin_a_2.plugin"]


def test_the_hookables_of_a_plugin_are_forgotten_with_it(load, bus, user):
    user.put("a", """
        import hookbus
        @hookbus.hookable("search_web")
        def search(query): return query
        def register(api): api.provide("tool", "search", search)
    """, hooks=[], more="provides.tool = ['search']")  # fmt: skip
    plugins = load(user=user)
    search = plugins.provided("tool", "search")
    with default_bus.signal("pre_search_web").connected_to(lambda sender: Block("no"), name="no"):
        with pytest.raises(HookBlocked):
            search("x")
        plugins.unload("a")
        assert "search_web" not in default_bus.hook_names() and search("x") == "x"


def test_an_unloaded_plugin_can_be_collected(load, user):
    user.put("a", """
        class Tool: pass
        def register(api):
            tool = Tool()
            api.connect("pre_reply", lambda agent: tool and None)
            api.on_unload(lambda: tool)
            api.provide("tool", "it", tool)
    """, more="provides.tool = ['it']")  # fmt: skip
    plugins = load(user=user)
    tool = weakref.ref(plugins.provided("tool", "it"))
    plugins.unload("a")
    gc.collect()
    assert tool() is None


def test_nothing_of_a_refused_plugin_stays_in_memory(load, user):
    user.put("a", """
        class HookbusTestMarker: pass
        def register(api):
            marker = HookbusTestMarker()
            api.connect("pre_reply", lambda agent: marker and None)
            api.provide("tool", "it", marker)
            api.on_unload(lambda: marker)
            raise ValueError(marker)
    """, more="provides.tool = ['it']")  # fmt: skip
    plugins = load(user=user)
    gc.collect()
    assert "register raised ValueError" in said_of("a", plugins)
    assert [each for each in gc.get_objects() if type(each).__name__ == "HookbusTestMarker"] == []


def test_a_plugin_that_keeps_its_api_does_not_keep_senders(load, user, agent):
    import builtins

    user.put("a", """
        import builtins
        def register(api):
            api.connect("pre_reply", lambda agent: None, sender=builtins.hookbus_test_agents.pop())
            api.provide("api", "api", api)
    """, more="provides.api = ['api']")  # fmt: skip
    other = type(agent)()
    builtins.hookbus_test_agents = [other]
    plugins = load(user=user)
    del builtins.hookbus_test_agents
    seen = weakref.ref(other)
    del other
    gc.collect()
    assert plugins.loaded == ("a",) and seen() is None


@pytest.mark.parametrize("take_out", ["close", "unload", "reload"])
def test_an_interrupt_in_a_cleanup_passes_when_everything_is_in_order(
    load, bus, agent, user, take_out
):
    user.put("a"), user.put("z")
    user.put("b", """
        def interrupt(): raise KeyboardInterrupt
        def register(api):
            api.connect("pre_reply", lambda agent, msg: {"msg": msg + "+b"})
            api.on_unload(interrupt)
    """)  # fmt: skip
    plugins = load(user=user)
    user.put("b")
    with pytest.raises(KeyboardInterrupt):
        getattr(plugins, take_out)(*(["b"] if take_out != "close" else []))
    assert agent.reply("m") == {"close": "m", "unload": "m+a+z", "reload": "m+a+z+b"}[take_out]
    plugins.close()
    assert_no_trace(bus)


def test_what_a_cleanup_does_wrong_is_said_and_stops_nothing(load, bus, agent, user):
    user.put("a", """
        async def later(): pass
        def register(api):
            api.connect("pre_reply", lambda agent: None)
            api.on_unload(later)
            api.on_unload(lambda: 1 / 0)
    """)  # fmt: skip
    plugins = load(user=user)
    plugins.unload("a")
    said = [str(said) for said in plugins.diagnostics]
    assert (
        len(said) == 2
        and "raised ZeroDivisionError" in said[0]
        and "cleanup later is async" in said[1]
    )
    assert_no_trace(bus)


def test_a_bus_that_is_gone_without_having_unloaded_leaves_no_code_behind(user, tmp_path):
    user.put("a"), user.put("b")
    for _ in range(2):
        load_plugins(Bus(), user=user.root, installed=False)
    gc.collect()
    with load_plugins(Bus(), user=user.root, installed=False) as plugins:
        assert plugins.loaded == ("a", "b")
        assert [name for name in plugin_modules() if "_2" in name] == []
    assert_no_trace(Bus())
