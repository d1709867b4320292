"""After any sequence of steps exactly the receivers are there that the loaded plugins declare, and
nothing else is.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookbus import Bus, HookError, hookable, load_plugins
from tests.properties.examples import examples

from .conftest import plugin_modules

IDS = ("a", "b", "c", "d")
REQUIRES = {"c": ("a",)}
WAYS = ("good", "import", "register", "half", "lying", "manifest", "conflict", "version")
STEPS = st.one_of(
    st.tuples(
        st.sampled_from(["load", "unload", "reload", "enable", "disable"]), st.sampled_from(IDS)
    ),
    st.tuples(st.sampled_from(WAYS), st.sampled_from(IDS)),
    st.just(("load", None)),
)

MANIFEST = """
format = {format}
id = "{id}"
version = "1"
enabled = {enabled}
hooks = ["pre_reply", "post_reply"]
provides.tool = ["{tool}"]
requires.plugins = {requires}
"""

CODE = """
def before(agent, msg): return {{"msg": msg + "{id}{mark}"}}
def after(agent, result): return None
async def late(agent): pass

{at_import}
def register(api):
    api.provide("tool", "{tool}", "{id}{mark}")
    api.connect("pre_reply", before, name="{id}{mark} before")
    {in_register}
    api.connect("post_reply", after, name="{id}{mark} after")
"""


class World:
    """Four plugin folders, and a model that knows which of them must be loaded in which version."""

    def __init__(self, root):
        self.root = root
        self.way = dict.fromkeys(IDS, "good")
        self.mark = dict.fromkeys(IDS, 0)
        self.on = {"a": True, "b": True, "c": True, "d": False}
        self.status = dict.fromkeys(IDS, "found")
        self.loaded = {}
        for plugin in IDS:
            self.write(plugin)

    def write(self, plugin):
        home = self.root / plugin
        home.mkdir(exist_ok=True)
        way, mark = self.way[plugin], self.mark[plugin]
        tool = "shared" if way == "conflict" else plugin
        (home / "hookbus-plugin.toml").write_text(MANIFEST.format(
            format=9 if way == "manifest" else 1, id=plugin, tool=tool,
            requires=list(REQUIRES.get(plugin, ())),
            enabled="false" if plugin == "d" else "true",
        ))  # fmt: skip
        (home / "plugin.py").write_text(CODE.format(
            id=plugin, mark=mark, tool=tool, at_import="1 / 0" if way == "import" else "",
            in_register={"register": "1 / 0", "half": "api.connect('pre_reply', late)",
                         "lying": "api.connect('error_reply', after)"}.get(way, ""),
        ))  # fmt: skip

    def tool(self, plugin, way):
        return "shared" if way == "conflict" else plugin

    def can_load(self, plugin):
        taken = {
            self.tool(other, way) for other, (_, way) in self.loaded.items() if other != plugin
        }
        return (
            self.way[plugin] in ("good", "conflict", "version")
            and all(required in self.loaded for required in REQUIRES.get(plugin, ()))
            and self.tool(plugin, self.way[plugin]) not in taken
        )

    def attempt(self, plugin):
        if self.can_load(plugin):
            self.loaded.pop(plugin, None) if plugin not in self.loaded else None
            self.loaded[plugin] = (self.mark[plugin], self.way[plugin])

    def is_on(self, plugin):
        # A manifest that cannot be read says nothing of being off, but then the plugin cannot be
        # loaded either.
        return self.on[plugin]

    def is_required(self, plugin):
        return any(plugin in REQUIRES.get(other, ()) for other in self.loaded)

    def step(self, word, plugin):
        """Play a step in the model; True if hookbus must refuse the request."""
        if word in WAYS:
            self.way[plugin] = word
            self.mark[plugin] += word == "version"
            self.write(plugin)
        elif word == "load":
            for each in [plugin] if plugin else ("a", "b", "c", "d"):
                if each not in self.loaded and self.is_on(each):
                    self.attempt(each)
        elif word in ("unload", "disable"):
            if plugin in self.loaded and self.is_required(plugin):
                return True
            self.loaded.pop(plugin, None)
            self.on[plugin] = self.on[plugin] and word == "unload"
        elif word == "enable":
            self.on[plugin] = True
            if plugin not in self.loaded:
                self.attempt(plugin)
        elif word == "reload":
            if plugin in self.loaded or self.is_on(plugin):
                self.attempt(plugin)
        return False


def play(world, plugins, word, plugin):
    refuses = world.step(word, plugin)
    if word in WAYS:
        return
    try:
        getattr(plugins, word)(*([plugin] if plugin else []))
    except HookError:
        assert refuses
    else:
        assert not refuses


def check(world, bus, agent, plugins):
    assert set(plugins.loaded) == set(world.loaded), plugins
    declared = [
        f"{plugin}{mark} {word}"
        for plugin, (mark, _) in world.loaded.items()
        for word in ("before", "after")
    ]
    connected = [receiver for signal in bus.signals() for receiver in signal.connections()]
    assert sorted(receiver.name for receiver in connected) == sorted(declared)
    assert all(receiver.is_enabled for receiver in connected)
    expected = "m" + "".join(
        sorted(f"{plugin}{mark}" for plugin, (mark, _) in world.loaded.items())
    )
    said = agent.reply("m")
    assert (
        "m" + "".join(sorted(said[index : index + 2] for index in range(1, len(said), 2)))
        == expected
    )
    tools = {
        world.tool(plugin, way): f"{plugin}{mark}" for plugin, (mark, way) in world.loaded.items()
    }
    assert plugins.all_provided("tool") == tools
    packages = {name.partition(".")[0] for name in plugin_modules()}
    assert packages == {f"hookbus_plugin_{plugin}" for plugin in world.loaded}
    finders = [
        finder for finder in sys.meta_path if type(finder).__module__ == "hookbus.plugins._code"
    ]
    assert len(finders) == len(world.loaded)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.delenv("HOOKBUS_PLUGINS", raising=False)
    return tmp_path


@examples(0.5 if "HOOKBUS_LONG" in os.environ else 0.15)
@given(steps=st.lists(STEPS, max_size=12))
def test_any_sequence_leaves_exactly_what_the_loaded_plugins_declare(steps):
    root = Path(tempfile.mkdtemp())
    try:
        world, bus = World(root), Bus()

        class Agent:
            @hookable("reply", bus=bus)
            def reply(self, msg):
                return msg

        world.step("load", None)
        with load_plugins(bus, user=root, installed=False) as plugins:
            check(world, bus, Agent(), plugins)
            for word, plugin in steps:
                play(world, plugins, word, plugin)
                check(world, bus, Agent(), plugins)
        world.loaded.clear()
        check(world, bus, Agent(), plugins)
    finally:
        shutil.rmtree(root)
