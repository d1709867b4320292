"""A terminal that has not every character, as on Windows: nothing fails, and JSON stays JSON."""

import io
import json
import sys

import pytest

from hookbus import Ask, Bus, HookBlocked, cli, hookable
from hookbus.approvals import terminal
from hookbus.journal import Journal

ODD = "日本 😀 → é\x81"
AGENT = '''\
from hookbus import hookable


class Agent:
    @hookable
    def réply(self, msg):
        return msg
'''
COMMANDS = [
    "--help", "log --help", "hooks agent_odd", "explain agent_odd:Agent.réply", "check agent_odd",
    "log --journal a.db", "trace --journal a.db", "doctor", "replay --help", "no-such-command",
    "hooks nö_日本",
]  # fmt: skip
JSON = [
    "log --journal a.db --json", "hooks agent_odd --json", "explain agent_odd:Agent.réply --json",
    "doctor --json",
]  # fmt: skip


@pytest.fixture
def played(folder):
    """Make a module and a journal full of odd characters."""
    (folder / "agent_odd.py").write_text(AGENT, encoding="utf-8")
    bus = Bus(values=True)

    @hookable("réply", bus=bus)
    def reply(msg):
        raise ValueError(msg)

    with Journal(folder / "a.db") as journal:
        journal.attach(bus, turns=True)
        bus.signal("pre_réply").connect(lambda reply, msg: {"msg": ODD}, name=ODD)
        with pytest.raises(ValueError):
            reply("x")
    yield
    sys.modules.pop("agent_odd", None)


def shown_in(encoding, monkeypatch, do):
    """Do something with a terminal of this encoding, which refuses what it has not."""
    screens = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n") for _ in "oe"]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screens[0])
        screens[1].reconfigure(errors="backslashreplace")  # as Python has stderr
        patch.setattr(sys, "stderr", screens[1])
        result = do()
        for each in screens:
            each.flush()
    return result, *(each.buffer.getvalue().decode(encoding) for each in screens)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_it_can(played, monkeypatch, command, encoding):
    code, out, err = shown_in(encoding, monkeypatch, lambda: cli.main(command.split()))
    assert code == (2 if command.startswith(("no", "hooks nö")) else 0), err
    assert "Error" not in err and (out or err)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("command", JSON)
def test_json_holds_every_character(played, monkeypatch, command, encoding):
    code, out, err = shown_in(encoding, monkeypatch, lambda: cli.main(command.split()))
    assert (code, err) == (0, "")
    told = [json.loads(line) for line in out.splitlines()]
    if command.startswith("log"):
        assert ODD in json.dumps(told, ensure_ascii=False)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_the_terminal_asks_in_characters_that_it_has(monkeypatch, encoding):
    bus = Bus()
    bus.approver(terminal)

    @hookable("pay", bus=bus, identity=lambda pay: "pay")
    def pay(to):
        return "paid"

    bus.signal("pre_pay").connect(lambda pay, to: Ask(f"may {to} be paid?"), role="guard", name="g")
    for answer, outcome in (("yes\n", "paid"), ("no\n", "blocked")):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))

        def call():
            try:
                return pay("東京")
            except HookBlocked:
                return "blocked"

        result, out, _ = shown_in(encoding, monkeypatch, call)
        assert result == outcome and r"\u6771\u4eac" in out
