"""`hookbus log`, `trace`, `top` and `replay`: what happened, asked of a journal."""

import json
import re
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from hookbus import Block, Bus, HookBlocked, baggage, hookable
from hookbus._cli.when import moment
from hookbus.guards import tool_policy
from hookbus.journal import Journal
from tests.cli.conftest import environment

NIGHT = "night.journal"


@pytest.fixture
def night(folder):
    """A journal of five calls: a payment with a mail in it, two that go wrong, one in a session."""
    bus = Bus(values=True)

    @hookable(bus=bus)
    def send(to, text):
        return "sent"

    @hookable(bus=bus)
    def pay(amount):
        if amount == 13:
            raise ValueError("unlucky")
        return send("ann", f"paid {amount}, pin 4711")

    def redact(send, text):
        return {"text": text.replace("4711", "****")}

    def small(pay, amount):
        return Block("too much\x1b[31m", code="amount") if amount > 100 else None

    def archive(send, result):
        raise OSError("disk full")

    bus.signal("pre_send").connect(redact, name="redact")
    bus.signal("pre_pay").connect(small, role="guard", name="small")
    bus.signal("post_send").connect(archive, role="observe", name="archive")
    with Journal(folder / NIGHT) as journal:
        journal.attach(bus)
        with baggage(session="s-1"):
            pay(3)
        with baggage(session='s-"2"'), pytest.raises(HookBlocked):
            pay(500)
        with pytest.raises(ValueError, match="unlucky"):
            pay(13)
        return next(journal.records()).data["call_id"]


def hooks_of(out):
    return [json.loads(line)["hook"] for line in out.splitlines()]


@pytest.mark.parametrize("words, hooks", [
    ([], ["pay", "send", "pay", "pay"]),
    (["--limit", "1"], ["pay"]),
    (["--hook", "send"], ["send"]),
    (["--outcome", "blocked"], ["pay"]),
    (["--outcome", "failed"], ["send"]),
    (["--outcome", "unfinished"], []),
    (["--receiver", "archive"], ["send"]),
    (["--receiver", "small", "--outcome", "blocked"], ["pay"]),
    (["--receiver", "small", "--outcome", "unfinished"], []),
    (["--receiver", "nobody"], []),
    (["--session", "s-1"], ["pay", "send"]),
    (["--session", 's-"2"'], ["pay"]),
    (["--session", "s-"], []),
    (["--since", "1h"], ["pay", "send", "pay", "pay"]),
    (["--since", "2999-01-01"], []),
    (["--hook", "pay", "--session", "s-1", "--since", "yesterday"], ["pay"]),
])  # fmt: skip
def test_the_calls_that_are_meant_are_listed(hookbus, night, words, hooks):
    code, out, err = hookbus("log", "--journal", NIGHT, "--json", *words)
    assert (code, err, hooks_of(out)) == (0, "", hooks)


def test_a_line_says_when_which_how_and_what_receivers_did(hookbus, night):
    _, out, _ = hookbus("log", "--journal", NIGHT)
    _, first, blocked, raised = out.splitlines()
    assert re.match(
        rf"\d\d:\d\d:\d\d\.\d{{3}} +{night + 1}  returned +[\d.]+ .?s  send of function send  "
        r"redact changed argument 'text'.*4711.*\*\*\*\*.*; "
        r"archive failed in post, isolated: OSError", first
    ), first  # fmt: skip
    assert r"small blocked in pre: too much\x1b[31m [amount]" in blocked
    assert " raised " in raised and "ValueError at " in raised and "unlucky" not in raised
    assert "\x1b" not in out


def test_an_empty_list_mentions_the_calls_that_have_not_ended(hookbus, folder):
    bus = Bus()

    @hookable(bus=bus)
    def pay(amount):
        journal.flush()
        return hookbus("log", "--journal", NIGHT, *words)[1] if amount else None

    with Journal(folder / NIGHT) as journal:
        journal.attach(bus)
        words = ()
        said = "no matching calls have ended; --outcome unfinished lists those that have not\n"
        assert pay(1) == said
        words = ("--outcome", "blocked")
        assert pay(1) == "no matching calls\n"
        words = ("--hook", "send")
        assert pay(1) == "no matching calls\n"
    assert len(hookbus("log", "--journal", NIGHT)[1].splitlines()) == 3


def test_a_blocked_call_has_no_result_in_its_tree(hookbus, folder):
    bus = Bus(values=True)
    pay = hookable("pay", bus=bus, on_block=lambda blocked: "not today")(lambda amount: amount)
    bus.signal("pre_pay").connect(lambda pay: Block("no"), role="guard", name="no")
    with Journal(folder / NIGHT) as journal:
        journal.attach(bus)
        assert pay(4) == "not today"
        number = next(journal.records()).data["call_id"]
    out = hookbus("log", "show", number, "--journal", NIGHT)[1]
    assert re.sub("^[│├└─ ]+", "", out.splitlines()[-1]) == "blocked"


def test_one_call_is_a_tree(hookbus, night):
    code, out, _ = hookbus("log", "show", night, "--journal", NIGHT)
    lines = [re.sub("^[│├└─ ]+", "", line) for line in out.splitlines()]
    assert code == 0
    assert lines[0].startswith(f"pay of function pay  call {night}  ")
    assert lines[1:3] == ["session: 's-1'", "amount = 3"]
    assert lines[3].startswith(f"send of function send  call {night + 1}  ")
    assert "to = 'ann'" in lines and lines[-1] == "returned: 'sent'"
    told = json.loads(hookbus("log", "show", night, "--journal", NIGHT, "--json")[1])
    [inside] = told["calls"]
    assert (told["outcome"], inside["call_id"]) == ("returned", night + 1)


def test_where_turns_are_kept_a_call_says_who_agreed_and_for_how_long(hookbus, folder):
    bus = Bus()
    pay = hookable("pay", bus=bus)(lambda amount: amount)
    bus.signal("pre_pay").connect(lambda pay: None, role="guard", name="agrees")
    bus.signal("pre_pay").connect(lambda pay, amount: {"amount": 3}, name="changes")
    with Journal(folder / NIGHT) as journal:
        journal.attach(bus, turns=True)
        pay(4)
        number = next(journal.records()).data["call_id"]
    _, out, _ = hookbus("log", "show", number, "--journal", NIGHT)
    assert re.search(r"changes changed argument 'amount'\n.*changes took [\d.]+ .?s\n", out)
    assert re.search(r"agrees returned nothing, [\d.]+ .?s\n", out)
    _, out, _ = hookbus("log", "--journal", NIGHT)
    assert "changes changed argument 'amount'" in out and "agrees" not in out and "took" not in out


def test_a_call_that_several_runs_have_is_named_with_its_run(hookbus, night, folder):
    own = next(Journal.reading(folder / NIGHT).records()).run
    again = "from hookbus import hookable\nh = hookable('again')(lambda: 1)\n"
    again += f"for _ in range({night}): h()"
    ran = subprocess.run(
        [sys.executable, "-c", again],
        env=environment(HOOKBUS_JOURNAL=NIGHT), cwd=folder,
    )  # fmt: skip
    assert ran.returncode == 0
    code, _, err = hookbus("log", "show", night, "--journal", NIGHT)
    assert code == 2 and f"2 runs have a call {night}: add the run, such as" in err
    code, out, _ = hookbus("log", "show", f"{own[:8]}:{night}", "--journal", NIGHT)
    assert code == 0 and out.startswith("pay of")
    for limit in ("1", "3"):
        lines = hookbus("log", "--limit", limit, "--journal", NIGHT)[1].splitlines()
        assert len(lines) == int(limit)
        for line in lines:
            assert hookbus("log", "show", line.split()[1], "--journal", NIGHT)[0] == 0


def test_a_journal_that_is_whole_is_said_to_be(hookbus, night):
    code, out, _ = hookbus("log", "verify", "--journal", NIGHT, "--json")
    assert code == 0
    assert json.loads(out)["ok"] is True


def test_a_journal_that_was_changed_is_found_out(hookbus, night, folder):
    with sqlite3.connect(folder / NIGHT) as db:
        db.execute("UPDATE chain SET data = replace(data, 'blocked', 'allowed') WHERE seq = 9")
        db.execute("UPDATE chain SET time = time + 1 WHERE seq = 4")
    db.close()
    code, out, _ = hookbus("log", "verify", "--journal", NIGHT)
    assert code == 1 and "4" in out


def test_calls_are_followed_as_they_end_until_somebody_interrupts(night, folder, tmp_path):
    follows = subprocess.Popen(
        [sys.executable, "-m", "hookbus", "log", "--follow", "--journal", NIGHT, "--limit", "1",
         "--hook", "ring"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment(),
    )  # fmt: skip
    bus = Bus()
    ring = hookable("ring", bus=bus)(lambda: 1)
    with follows, Journal(folder / NIGHT) as journal:
        journal.attach(bus)
        stop = datetime.now() + timedelta(seconds=20)
        import select

        while not select.select([follows.stdout], [], [], 0.1)[0] and datetime.now() < stop:
            ring()
            journal.flush()
        assert "ring of function" in follows.stdout.readline()
        follows.send_signal(2)
        _, err = follows.communicate(timeout=10)
    assert (follows.returncode, err) == (130, "hookbus: interrupted\n")


def test_a_trace_holds_every_call_once_and_calls_inside_lie_inside(hookbus, night, folder):
    code, out, _ = hookbus("trace", "--journal", NIGHT, "--out", "t.json", "--json")
    events = json.loads((folder / "t.json").read_text())
    calls = [event for event in events if event["ph"] == "X"]
    assert (code, json.loads(out)["events"]) == (0, len(events))
    assert [each["name"] for each in calls] == ["pay", "send", "pay", "pay"]
    outer, inner, blocked, _ = calls
    assert outer["tid"] == inner["tid"] and outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
    assert inner["args"]["receivers"][0].startswith("redact changed argument 'text'")
    assert (blocked["cat"], blocked["args"]["session"]) == ("blocked", 's-"2"')
    assert hookbus("trace", "--journal", NIGHT, "--outcome", "failed", "--json")[0] == 0
    names = [e["name"] for e in json.loads((folder / "trace.json").read_text()) if e["ph"] == "X"]
    assert names == ["send"]


def test_calls_side_by_side_lie_in_lanes_of_their_own():
    from hookbus._cli.trace import _lane

    lanes = []
    assert [_lane(lanes, *each) for each in [(0, 9), (1, 4), (2, 8), (3, 5), (5, 6), (10, 11)]] == [
        0, 0, 1, 1, 0, 0,
    ]  # fmt: skip


def test_top_counts_what_happens_right_now(hookbus, folder):
    bus, ended = Bus(), threading.Event()

    @hookable(bus=bus)
    def ring(n):
        return n

    bus.signal("pre_ring").connect(
        lambda ring, n: Block("odd") if n % 2 else None, role="guard", name="even"
    )
    bus.signal("pre_ring").connect(
        lambda ring: time.sleep(0.001), role="observe", name="slow"
    )
    with Journal(folder / NIGHT) as journal:
        journal.attach(bus, turns=True)

        def call():
            n = 0
            while not ended.wait(0.005):
                n += 1
                with suppress(HookBlocked):
                    ring(n)

        calling = threading.Thread(target=call)
        calling.start()
        words = "top", "--journal", NIGHT, "--every", "0.5", "--times"
        _, out, _ = hookbus(*words, "2", "--json")
        code, table, err = hookbus(*words, "1")
        ended.set()
        calling.join()
    _, last = map(json.loads, out.splitlines())
    [row] = last["hooks"]
    assert row["hook"] == "ring" and row["calls/s"] > 1 and row["blocked"] > 0
    assert row["p50"] <= row["p99"] <= row["slowest"]
    slowest = [each["slowest"] for each in last["receivers"]]
    assert slowest == sorted(slowest, reverse=True)
    of = {each["receiver"]: each for each in last["receivers"]}
    assert of["slow"]["slowest"] >= 0.001 and of["even"]["blocked"] > 0
    assert (code, err) == (0, "") and "slowest first" in table and "even" in table


def test_replay_says_which_calls_would_end_otherwise(hookbus, folder):
    (folder / "agent.py").write_text(
        "from hookbus import Block, hookable, signal\n"
        "@hookable\ndef pay(amount): return amount\n"
        "@signal('pre_pay').connect_via(role='guard')\n"
        "def nothing(pay, amount): return Block('never') if amount == 3 else None\n"
    )
    bus = Bus(values=True)
    pay = hookable("pay", bus=bus)(lambda amount: amount)
    with Journal(folder / NIGHT) as journal:
        journal.attach(bus)
        pay(3), pay(4)
    code, out, _ = hookbus("replay", "agent", "--journal", NIGHT, "--json")
    [difference] = json.loads(out)["differences"]
    assert (code, difference["now"], difference["receiver"]) == (1, "blocked", "nothing")
    code, out, _ = hookbus("replay", "agent", "--journal", NIGHT)
    assert code == 1 and "nothing" in out and "2 calls" in out
    (folder / "empty.py").write_text("")
    assert hookbus("replay", "empty", "--journal", NIGHT)[0] == 1  # it is in this process already


NOW = datetime(2026, 11, 24, 3, 15, 30)


@pytest.mark.parametrize("text, at", [
    ("90s", NOW - timedelta(seconds=90)), ("15m", NOW - timedelta(minutes=15)),
    ("2h", NOW - timedelta(hours=2)), ("1.5 h", NOW - timedelta(minutes=90)),
    ("3d", NOW - timedelta(days=3)), ("1w", NOW - timedelta(weeks=1)),
    ("today", datetime(2026, 11, 24)), ("Yesterday", datetime(2026, 11, 23)),
    ("03:00", datetime(2026, 11, 24, 3)), ("23:10", datetime(2026, 11, 23, 23, 10)),
    ("3:15:29", datetime(2026, 11, 24, 3, 15, 29)), ("2026-11-20", datetime(2026, 11, 20)),
    ("2026-11-20 04:05", datetime(2026, 11, 20, 4, 5)),
    ("2026-11-20T04:05:06+00:00", datetime.fromisoformat("2026-11-20T04:05:06+00:00")),
])  # fmt: skip
def test_moments_are_read_as_people_write_them(text, at):
    assert moment(text, NOW) == at.timestamp()


def test_a_command_without_a_file_names_the_file_of_the_gate(hookbus, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder / "home"))
    own = folder / "home" / ".config" / "hookbus"
    own.mkdir(parents=True)
    (own / "hookbus.toml").write_text('journal = "calls.journal"\napprovals = "approvals.db"\n')
    for words, name in ((["log"], "calls.journal"), (["approvals"], "approvals.db")):
        assert "hookbus gate uses" not in hookbus(*words)[2]
        (own / name).touch()
        code, _, err = hookbus(*words)
        assert code == 2 and err.endswith(f"in [tool.hookbus]; hookbus gate uses {own / name}\n")
    (own / "hookbus.toml").write_text("jurnal = 1\n")
    assert hookbus("log")[2].endswith("in [tool.hookbus]\n")


def test_a_call_that_a_rule_blocked_is_listed_with_the_rule(hookbus, folder):
    bus = Bus()
    bus.register(tool_policy(deny={"bash": {"command": "*rm *"}}, default="allow"))
    tool = hookable("tool_call", bus=bus)(lambda name, arguments: None)
    with Journal(folder / "rules.journal") as journal:
        journal.attach(bus)
        with pytest.raises(HookBlocked):
            tool("bash", {"command": "rm x"})
    out = hookbus("log", "--journal", "rules.journal")[1]
    assert out.endswith(" [tool: deny: 'bash' with {'command': '*rm *'}]\n")


@pytest.mark.parametrize("label, line", [("Bash", "of Tool"), ("Read", "of Tool 'Bash'")])
def test_the_name_of_a_tool_is_not_listed_twice(hookbus, folder, label, line):
    bus = Bus()

    class Tool:
        def __init__(self):
            self.name = "Bash"

    @hookable("tool_call", bus=bus, sender="tool", labels=("name",))
    def run(tool, name):
        return None

    with Journal(folder / "tools.journal") as journal:
        journal.attach(bus)
        run(Tool(), label)
    assert hookbus("log", "--journal", "tools.journal")[1].endswith(f"tool_call {label} {line}\n")


def test_doctor_names_the_settings_of_the_gate(hookbus, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder / "home"))
    assert "hookbus gate" not in hookbus("doctor")[1]
    file = folder / "home" / ".config" / "hookbus" / "hookbus.toml"
    file.parent.mkdir(parents=True)
    file.write_text("")
    line = f"\nsettings of hookbus gate: {file}; hookbus gate status checks them\n"
    assert line in hookbus("doctor")[1]
