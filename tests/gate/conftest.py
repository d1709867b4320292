"""A folder with settings of the gate, and hooks that are started as agents start them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from .reading import outcome

if os.name == "nt":  # there is no gate
    collect_ignore_glob = ["test_*.py"]
else:
    from hookbus.gate import _hook as hook
    from hookbus.gate import _install

PLUGIN = """\
from hookbus import Block


def no_rm(tool, arguments):
    if "rm " in str(arguments):
        return Block("rm is not for agents")


def register(api):
    api.connect("pre_tool_call", no_rm, role="guard", name="no_rm")
"""


class Gate:
    """The settings of one gate, and its hooks.

    Attributes:
        folder: where the settings are.
        file: the settings.
    """

    def __init__(self, folder):
        self.folder, self.file = folder, folder / "hookbus.toml"

    def write(self, text):
        """Write the settings."""
        self.file.write_text(text)

    def plug(self, text=PLUGIN, hooks='["pre_tool_call"]'):
        """Write a plugin, and settings that name it."""
        own = self.folder / "plugins" / "own"
        own.mkdir(parents=True, exist_ok=True)
        (own / "hookbus-plugin.toml").write_text(
            f'format = 1\nid = "own"\nversion = "1"\nhooks = {hooks}\n'
        )
        (own / "plugin.py").write_text(text)
        return '[plugins]\nuser = "plugins"\nenable = ["own"]\ninstalled = false\n'

    def command(self, agent, event, seconds=10):
        """Return the words of a hook, as `install` writes them without the shell."""
        words = [agent, str(self.file), str(seconds), event]
        return [sys.executable, "-I", "-S", hook.FILE, *words]

    def start(self, agent, event, seconds=10, **more):
        """Start the hook of an event, with its stdin open."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(self.command(agent, event, seconds), **pipes, **more)

    def answer(self, agent, event, seconds=10, data=None, variables=None):
        """Return the answer to an event: what the shell makes of the exit code, stdout, stderr."""
        env = {"PATH": os.environ["PATH"], **(variables or {})}
        started = self.start(agent, event["hook_event_name"], seconds, env=env)
        out, err = started.communicate(json.dumps(event).encode() if data is None else data)
        assert started.returncode in (hook.GO, hook.REFUSED), (started.returncode, err)
        code = 0 if started.returncode == hook.GO else 2
        return code, out.decode(), err.decode()

    def outcome(self, agent, event, *more, **options):
        """Return what an agent makes of the answer to an event."""
        return outcome(agent, event, self.answer(agent, event, *more, **options))

    def stop(self):
        """End the servers; return whether there was one."""
        return _install.stop(self.file)

    @property
    def log(self):
        """What the servers have logged."""
        path = Path(f"{hook.place(str(self.file))}.log")
        return path.read_text() if path.exists() else ""


def _closed(gate):
    gate.stop()
    base = Path(hook.place(str(gate.file)))
    for path in base.parent.glob(f"{base.name}.*"):
        path.unlink(missing_ok=True)
    shutil.rmtree(gate.folder)


@pytest.fixture
def make_gate():
    """Makes gates whose servers are ended afterwards."""
    made = []

    def make():
        made.append(Gate(Path(tempfile.mkdtemp(prefix="gate"))))
        return made[-1]

    yield make
    for gate in made:
        _closed(gate)


@pytest.fixture
def gate(make_gate):
    """A gate with a plugin that blocks `rm`."""
    made = make_gate()
    made.write(made.plug())
    return made


@pytest.fixture(scope="module")
def module_gates():
    """Gates by name, each for all tests of a module, with a plugin that blocks `rm`."""
    made = {}

    def named(name="default"):
        if name not in made:
            gate = made[name] = Gate(Path(tempfile.mkdtemp(prefix="gate")))
            gate.write(gate.plug())
        return made[name]

    yield named
    for gate in made.values():
        _closed(gate)
