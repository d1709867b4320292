"""A bus, an agent, a folder of plugins, and a check of what remains."""

import gc
import sys
import textwrap

import pytest

from hookbus import Bus, hookable, load_plugins
from hookbus.plugins import Plugins
from hookbus.plugins._code import sweep

MANIFEST = """
format = 1
id = "{id}"
version = "{version}"
hooks = {hooks}
"""

STAMP = """
    def stamp(agent, msg):
        return {{"msg": msg + "{mark}"}}

    def register(api):
        api.connect("pre_reply", stamp, name="{id}")
"""


class Shelf:
    """One place of plugins, written by the test."""

    def __init__(self, root):
        self.root = root
        root.mkdir()

    def put(
        self, plugin, code=None, *, more="", hooks=("pre_reply",), version="1.0", folder=None,
        mark=None, manifest=None,
    ):  # fmt: skip
        """Write a plugin; without code it stamps every message with its mark, which is its id
        unless said otherwise.
        """
        home = self.root / (folder or plugin)
        home.mkdir(exist_ok=True)
        said = MANIFEST.format(id=plugin, version=version, hooks=list(hooks)) + textwrap.dedent(
            more
        )
        (home / "hookbus-plugin.toml").write_text(said if manifest is None else manifest)
        (home / "plugin.py").write_text(
            textwrap.dedent(code or STAMP.format(id=plugin, mark=mark or f"+{plugin}"))
        )
        return home


@pytest.fixture(scope="package", autouse=True)
def _nothing_of_others():
    """Buses that other tests have dropped, plugins and all, go before the first look."""
    gc.collect()
    sweep()


@pytest.fixture
def user(tmp_path):
    return Shelf(tmp_path / "user")


@pytest.fixture
def workspace(tmp_path):
    return Shelf(tmp_path / "workspace")


@pytest.fixture
def bundled(tmp_path):
    return Shelf(tmp_path / "bundled")


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def agent(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    return Agent()


@pytest.fixture
def load(bus, monkeypatch):
    """Load plugins from shelves: `load(user=shelf, deny=[...])`.

    Nothing that is installed here gets in.
    """
    monkeypatch.delenv("HOOKBUS_PLUGINS", raising=False)
    opened: list[Plugins] = []

    def load(bus=bus, **arguments):
        arguments = {
            name: value.root if isinstance(value, Shelf) else value
            for name, value in arguments.items()
        }
        opened.append(load_plugins(bus, **{"installed": False, **arguments}))
        return opened[-1]

    yield load
    for plugins in opened:
        plugins.close()


def statuses(plugins):
    return {f"{row.place}:{row.plugin}": row.status for row in plugins.rows()}


def said_of(plugin, plugins, level="error"):
    """Return the one diagnostic of a plugin, as text."""
    [said] = [said for said in plugins.diagnostics if (said.plugin, said.level) == (plugin, level)]
    return str(said)


def receivers_on(bus):
    return sorted((s.name, r.name) for s in (bus.events, *bus.signals()) for r in s.connections())


def plugin_modules():
    return sorted(name for name in sys.modules if name.startswith("hookbus_plugin_"))


def assert_no_trace(bus):
    """Nothing of any folder plugin is in the process or on the bus."""
    assert receivers_on(bus) == []
    assert plugin_modules() == []
    assert [
        finder for finder in sys.meta_path if type(finder).__module__.startswith("hookbus")
    ] == []
