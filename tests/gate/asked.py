"""A gate that is asked as Cursor, Copilot or OpenCode asks, with the plugin of its tests."""

import json

from hookbus.gate import _hook as hook

from . import others

PLUGIN = """\
from hookbus import Block, Replace


def guard(tool, name, arguments):
    if "forbidden" in str(arguments) or name == "mcp__files-forbidden":
        return Block("not this")
    if "broken" in str(arguments):
        raise ValueError("the text of the guard")


def changed(tool, arguments):
    if "OLD" in str(arguments):
        place = "input" if "input" in arguments else "command"
        return {"arguments": {place: arguments[place].replace("OLD", "NEW")}}


def redacted(tool, result):
    return Replace("[redacted]") if "TOKEN" in str(result) else None


def polite(agent, input):
    return Block("be polite") if "rude" in input else None


def register(api):
    api.connect("pre_tool_call", changed, name="changed")
    api.connect("pre_tool_call", guard, role="guard", name="guard")
    api.connect("post_tool_call", redacted, name="redacted", on_error="block")
    api.connect("pre_agent_run", polite, role="guard", name="polite")
"""
HOOKS = '["pre_tool_call", "post_tool_call", "pre_agent_run"]'


class Asked:
    """A gate that gets events as an agent sends them."""

    def __init__(self, gate):
        self.gate = gate
        gate.write('journal = "calls.journal"\n' + gate.plug(PLUGIN, HOOKS))

    def begin(self, agent, **fields):
        """Begin a session, because some agents need one whose beginning the server has seen."""
        name, given = others.session(agent, others.BEGIN)
        assert self.answer(agent, name, {**given, **fields}) == (0, "", "")

    def answer(self, agent, name, given, data=None):
        with self.gate.start(agent, name) as started:
            out, err = started.communicate(json.dumps(given).encode() if data is None else data)
        assert started.returncode in (hook.GO, hook.REFUSED), err
        return int(started.returncode == hook.REFUSED) * 2, out.decode(), err.decode()

    def outcome(self, agent, event, data=None):
        return others.outcome(agent, *event, self.answer(agent, *event, data))
