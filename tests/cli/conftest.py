"""A working folder with an agent, and the command line in this process."""

import gc
import os
import sys
from pathlib import Path

import pytest

from hookbus import cli, default_bus

ROOT = Path(__file__).parent.parent.parent

AGENT = '''\
from hookbus import Block, hookable, signal


class Agent:
    @hookable
    def reply(self, msg):
        return msg

    @hookable(require_guard=True)
    def pay(self, amount):
        return amount


@signal("pre_reply").connect_via(Agent, role="guard", timeout=2, locked=True)
def no_keys(agent, msg):
    return Block("a key") if "KEY" in msg else None


@signal("pre_pay").connect_via(Agent, role="guard")
def small(agent, amount):
    return Block("too much") if amount > 100 else None
'''

MISTAKES = "from typing import Literal\n\n" + AGENT + '''

@signal("pre_replly").connect_via(Agent, role="guard")
def misspelt(agent, msg):
    return Block("never")


@signal("pre_reply").connect_via(Agent)
def opens(agent, msg):
    return Block("but open")


@hookable
def say(tone: Literal["calm", "loud"]):
    return tone


@signal("pre_say").connect_via(say, when={"tone": "a*"})
def unmatched(say, tone):
    return None


class Child(Agent):
    def reply(self, msg):
        return "uncovered"


@hookable(require_guard=True)
def transfer(amount):
    return amount


signal("post_reply").connect(lambda agent, result: None, sender=Child, role="guard", name="late")
'''

CIRCLE = '''\
from hookbus import hookable, signal


@hookable
def reply(msg):
    return msg


signal("pre_reply").connect(lambda reply: None, name="one", before="two")
signal("pre_reply").connect(lambda reply: None, name="two", before="one")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to stand in, with modules in it that are forgotten afterwards."""
    modules = {
        "agent": AGENT, "mistakes": MISTAKES, "circle": CIRCLE, "empty": "", "broken": "1 / 0\n",
        "unparsed": "def (\n", "leaves": "raise SystemExit(3)\n", "lacks": "import nosuchthing\n",
        "tooled": AGENT + "class Tool:\n    name, description = 'read_file', 'reads'\n"
                  "tools = [Tool()]\n",
    }  # fmt: skip
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("HOOKBUS_TRACEBACK", raising=False)
    yield tmp_path
    for name in (*modules, "package"):
        sys.modules.pop(name, None)
    for signal in default_bus.signals():
        signal._clear_state()
    default_bus._switchboard.required = frozenset()
    if default_bus.plugins is not None:
        default_bus.plugins.close()
    if default_bus.hook_names():
        gc.collect()  # classes are circles


@pytest.fixture
def hookbus(folder, capsys):
    """The command line: give it words, and it gives its exit code and what it has printed."""

    def play(*words):
        code = cli.main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return play


def environment(**more):
    """Return the environment of another process that runs this hookbus."""
    own = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **own, **more}


def files_in(folder: Path):
    """Return every file below a folder but what Python and SQLite keep for themselves."""
    ours = {path for path in folder.rglob("*") if "__pycache__" not in path.parts}
    return {path for path in ours if not path.name.endswith(("-wal", "-shm"))}
