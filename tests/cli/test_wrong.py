"""Wrong input: one clear line that says what to do, the right exit code, and nothing left behind.
"""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hookbus import Bus, hookable
from hookbus.approvals import Store
from hookbus.journal import Journal
from tests.cli.conftest import environment, files_in

J = ("--journal", "night.journal")
SETTINGS = "hookbus.toml"

WRONG = [
    # words, what the one line says, files that are there before
    (["hoooks", "agent"], 'Unknown command "hoooks". Did you mean "hooks"?', {}),
    (["hooks"], "MODULE", {}),
    (["hooks", "agent", "more"], "more", {}),
    (["hooks", "agent", "--jsno"], "Unknown option: --jsno. Did you mean --json?", {}),
    (["hooks", "nosuch"], "the module 'nosuch' is neither", {}),
    (["hooks", "nosuch.py"], "the file nosuch.py does not exist", {}),
    (["hooks", "not-a-name"], "'not-a-name' is not a module name", {}),
    (["hooks", ""], "is not a module name", {}),
    (["hooks", "broken"], "broken.py:1: ZeroDivisionError", {}),
    (["hooks", "unparsed"], "unparsed.py:1: SyntaxError", {}),
    (["hooks", "leaves"], "leaves.py:1: SystemExit: 3", {}),
    (["hooks", "lacks"], "lacks.py:1: ModuleNotFoundError: No module named 'nosuchthing'", {}),
    (["hooks", "circle"], "importing circle failed at", {}),
    (["explain", "agent"], "write module:Class.method", {}),
    (["explain", "agent:"], "write module:Class.method", {}),
    (["explain", ":Agent"], "write module:Class.method", {}),
    (["explain", "agent:Agent.repyl"], "Agent has no 'repyl'; did you mean 'reply'?", {}),
    (["explain", "agent:Agnet.reply"], "agent has no 'Agnet'; did you mean 'Agent'?", {}),
    (["explain", "agent:Agent"], "is not hookable", {}),
    (["explain", "agent:Agent", "--hook", "tool_cal"], "no hook 'tool_cal'", {}),
    (["check", "nosuch"], "the module 'nosuch' is neither", {}),
    (["check", "agent", "--rules", "nosuch.toml"], "nosuch.toml cannot be read", {}),
    (["check", "agent", "--rules", "r.toml"], "is not valid TOML", {"r.toml": "= 3"}),
    (["check", "agent", "--rules", "r.toml"], "unknown key 'alow'; did you mean 'allow'?",
     {"r.toml": 'alow = ["x"]'}),
    (["check", "agent", "--rules", "r.toml"], "contains no tools", {"r.toml": 'allow = ["x"]'}),
    (["run"], "PROGRAM", {}),
    (["run", "nosuch.py"], "the program nosuch.py does not exist", {}),
    (["run", "-m", "nosuch"], "the module 'nosuch' does not exist", {}),
    (["run", "-m", "agent.nosuch"], "the module 'agent.nosuch' cannot be run", {}),
    (["run", "-m", "package"], "package.__main__ is not a program", {}),
    (["run", "package"], "package/__main__.py is not a program", {}),
    (["run", "--plugin", "nosuch", "empty.py"], "plugin 'nosuch' was not found", {}),
    (["run", "--plugin", "nosuch", "--journal", "new.journal", "empty.py"], "was not found", {}),
    (["run", "--plugin", "no/such", "empty.py"], "hookbus-plugin.toml cannot be read", {}),
    (["run", "--plugin", "./p", "empty.py"], "is not valid TOML", {"p/hookbus-plugin.toml": "x"}),
    (["run", "--plugin", "./p", "empty.py"], "is not a valid plugin manifest: it has no id",
     {"p/hookbus-plugin.toml": "x = 1"}),
    (["run", "--adapters", "langchian", "empty.py"], "did you mean 'langchain'?", {}),
    (["run", "--instrument", "agent", "empty.py"], "write module:Class.method", {}),
    (["run", "--instrument", "agent:Agent.nosuch", "empty.py"], "does not exist", {}),
    (["run", "--instrument", "nosuch:A.b", "empty.py"], "the module 'nosuch' is neither", {}),
    (["run", "--journal", "no/such.journal", "empty.py"], "does not exist; create it", {}),
    (["run", "--journal", "package", "empty.py"], "is a folder", {}),
    (["run", "--trace", "no/such.json", "empty.py"], "the folder no does not exist", {}),
    (["run", "--trace", "package", "empty.py"], "package is a folder", {}),
    (["run", "--journal", "new.journal", "--approvals", "new.db", "--trace", "package", "empty.py"],
     "package is a folder", {}),
    (["run", "--approvals", "new.db", "--turns", "empty.py"], "add --journal FILE", {}),
    (["run", "--approvals", "agent.py", "empty.py"], "is not an SQLite database", {}),
    (["run", "--approvals", "no/such.db", "empty.py"], "does not exist; create it", {}),
    (["run", "--wait", "9", "empty.py"], "add --approvals FILE", {}),
    (["run", "--wait", "-1", "--approvals", "a.db", "empty.py"], "from 0 to 86400", {}),
    (["run", "--wait", "long", "empty.py"], "long", {}),
    (["run", "--turns", "empty.py"], "add --journal FILE", {}),
    (["run", "--nosuch", "empty.py"], "Unknown option: --nosuch", {}),
    (["log"], "no journal is configured", {}),
    (["log", "--journal", "nosuch.journal"], "the journal nosuch.journal does not exist", {}),
    (["log", "--journal", "agent.py"], "is not an SQLite database", {}),
    (["log", "--journal", "package"], "the journal package does not exist", {}),
    (["log", "--journal", "other.db"], "is a database of another program", {}),
    (["log", "--journal", "damaged.journal"], "is damaged", {}),
    (["log", *J, "--outcome", "blokced"], "did you mean 'blocked'?", {}),
    (["log", *J, "--since", "tomorrowish"], "write 15m", {}),
    (["log", *J, "--follow", "--outcome", "unfinished"], "remove --outcome unfinished", {}),
    (["log", *J, "--limit", "-1"], "must not be negative", {}),
    (["log", *J, "--limit", "many"], "many", {}),
    (["log", "shwo", *J], "shwo", {}),
    (["log", "show", *J], "CALL", {}),
    (["log", "show", "999999999", *J], "has no call 999999999", {}),
    (["log", "show", "nosuch:1", *J], "has no call nosuch:1", {}),
    (["log", "show", "seventeen", *J], "is not the number of a call", {}),
    (["log", "show", "1", "--journal", "nosuch.journal"], "does not exist", {}),
    (["log", "verify", "--journal", "nosuch.journal"], "does not exist", {}),
    (["log", "verify", "nonsense", *J], "checkpoint", {}),
    (["log", "verify", "--key", "nosuch.pem", *J], "nosuch.pem: No such file", {}),
    (["replay", "nosuch", *J], "the module 'nosuch' is neither", {}),
    (["replay", "agent", "--journal", "nosuch.journal"], "does not exist", {}),
    (["trace", *J, "--out", "no/such.json"], "the folder no does not exist", {}),
    (["trace", *J, "--out", "night.journal"], "is the journal itself", {}),
    (["trace", *J, "--out", "package"], "is a folder", {}),
    (["trace", *J, "--outcome", "unfinished"], "an unfinished call has no duration", {}),
    (["top", *J, "--every", "0"], "--every must be", {}),
    (["top", *J, "--times", "0"], "--times at least 1", {}),
    (["top"], "no journal is configured", {}),
    (["serve"], "no journal is configured", {}),
    (["serve", "--journal", "nosuch.journal"], "does not exist", {}),
    (["serve", *J, "--approvals", "nosuch.db"], "the store nosuch.db does not exist", {}),
    (["serve", *J, "--port", "70000"], "must be a number from 0", {}),
    (["serve", *J, "--port", "http"], "http", {}),
    (["approvals"], "no store of approvals is configured", {}),
    (["approvals", "--approvals", "nosuch.db"], "the store nosuch.db does not exist", {}),
    (["approvals", "--approvals", "agent.py"], "is not an SQLite database", {}),
    (["approvals", "--approvals", "night.journal"], "is a database of another program", {}),
    (["approvals", "show", "nosuch", "--approvals", "approvals.db"], "has no request 'nosuch'", {}),
    (["approvals", "approve", "nosuch", "--approvals", "approvals.db"], "has no request", {}),
    (["approvals", "deny", "", "--approvals", "approvals.db"], "has no request ''", {}),
    (["approvals", "approve"], "ID", {}),
    (["attach", "x", "report"], "x", {}),
    (["attach", "999999999", "report"], "process 999999999 does not exist", {}),
    (["attach", "1", "explode"], "explode", {}),
    (["attach", "1", "disable"], "disable needs the name of a receiver", {}),
    (["attach", "1", "report", "small"], "report takes no receiver", {}),
    (["attach", str(os.getppid()), "report"], "start the program with hookbus run", {}),
    (["hooks", "agent"], "key 'jurnal'; did you mean 'journal'?", {SETTINGS: 'jurnal = "x"'}),
    (["hooks", "agent"], "is not valid TOML", {SETTINGS: "journal ="}),
    (["hooks", "agent"], "must be a string", {SETTINGS: "journal = 3"}),
    (["hooks", "agent"], "must be a list of strings", {SETTINGS: "shadow = 'x'"}),
    (["hooks", "agent"], "[tool.hookbus] must be a table", {"pyproject.toml": "[tool]\nhookbus=1"}),
    (["hooks", "agent"], "plugins has an unknown key 'usr'; did you mean 'user'?",
     {SETTINGS: "[plugins]\nusr = 'x'"}),
    (["hooks", "agent"], "unknown key 'journal'; it belongs to the top level of the settings",
     {SETTINGS: "[plugins]\njournal = 'x'"}),
    (["hooks", "agent"], "unknown adapter 'langhcain'; did you mean 'langchain'?",
     {SETTINGS: "adapters = ['langhcain']"}),
    (["run", "empty.py"], "version", {SETTINGS: "[plugins]\nuser = 'plugins'",
                                      "plugins/a/hookbus-plugin.toml": 'format = 1\nid = "a"'}),
]  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Files that a command may be given: a journal, a damaged one, a store, another database."""
    place = tmp_path_factory.mktemp("kept")
    bus = Bus()
    with Journal(place / "night.journal") as journal:
        journal.attach(bus)
        for _ in range(200):
            hookable("ring", bus=bus)(lambda: None)()
    Store(place / "approvals.db").close()
    db = sqlite3.connect(place / "other.db")
    db.execute("CREATE TABLE x (y)")
    db.close()
    whole = (place / "night.journal").read_bytes()
    (place / "damaged.journal").write_bytes(whole[:4096] + b"\x5a" * (len(whole) - 4096))
    return {path.name: path.read_bytes() for path in place.iterdir() if path.suffix[1:] in
            ("journal", "db")}  # fmt: skip


@pytest.fixture
def stocked(folder, kept):
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("words, says, files", WRONG, ids=lambda each: " ".join(each)
                         if isinstance(each, list) else "")  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_line(hookbus, stocked, words, says, files):
    for name, text in files.items():
        (stocked / name).parent.mkdir(parents=True, exist_ok=True)
        (stocked / name).write_text(text)
    before = files_in(stocked)
    code, out, err = hookbus(*words)
    assert (code, out) == (2, "")
    assert err.startswith("hookbus: ") and err.count("\n") == 1 and says in err
    assert files_in(stocked) - before == set()


def test_the_table_is_long_enough():
    assert len(WRONG) >= 60


def test_a_traceback_is_shown_to_who_asks_for_it(hookbus, monkeypatch):
    assert "Traceback" in hookbus("hooks", "broken", "--traceback")[2]
    monkeypatch.setenv("HOOKBUS_TRACEBACK", "1")
    code, _, err = hookbus("hooks", "broken")
    assert code == 2 and "ZeroDivisionError" in err and "Traceback" in err


@pytest.mark.parametrize("words, file", [
    (["log", *J], "night.journal"), (["log", "show", "1", *J], "night.journal"),
    (["log", "verify", *J], "night.journal"), (["top", "--times", "1", *J], "night.journal"),
    (["trace", *J], "night.journal"), (["replay", "agent", *J], "night.journal"),
    (["approvals", "--approvals", "approvals.db"], "approvals.db"),
    (["approvals", "show", "x", "--approvals", "approvals.db"], "approvals.db"),
], ids=lambda each: " ".join(each) if isinstance(each, list) else "")  # fmt: skip
def test_a_file_that_may_not_be_read_is_said(hookbus, stocked, monkeypatch, words, file):
    with TemporaryDirectory() as place:  # in one that others may look into, unlike pytest's own
        shutil.copytree(stocked, place, dirs_exist_ok=True)
        os.chmod(place, 0o755)
        monkeypatch.chdir(place)
        hookbus(*words)  # which imports what it needs
        os.chmod(file, 0)
        before = files_in(Path(place))
        with nobody():
            code, out, err = hookbus(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert file in err and "check the permissions" in err
        assert files_in(Path(place)) - before == set()
        monkeypatch.chdir(stocked)


@contextmanager
def nobody():
    """Be a user who may not read everything."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_what_a_mistake_of_hookbus_itself_says(hookbus, stocked, monkeypatch):
    from hookbus._cli import log

    monkeypatch.setattr(log, "calls", lambda *_, **__: 1 / 0)
    code, _, err = hookbus("log", *J)
    assert code == 2 and err.count("\n") == 1
    assert "ZeroDivisionError: division by zero. This is a bug in hookbus" in err


@pytest.mark.parametrize("words", [["top", *J], ["log", "--follow", *J]], ids=" ".join)
def test_an_interrupt_is_130_and_leaves_nothing(stocked, words):
    before = files_in(stocked)
    with subprocess.Popen(
        [sys.executable, "-m", "hookbus", *words], cwd=stocked, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as begun:  # fmt: skip
        begun.stdout.readline()  # its first words
        time.sleep(0.1)
        begun.send_signal(signal.SIGINT)
        _, err = begun.communicate(timeout=20)
    assert (begun.returncode, err) == (130, "hookbus: interrupted\n")
    assert files_in(stocked) - before == set()


def test_a_port_that_is_in_use_is_said(hookbus, stocked):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, err = hookbus("serve", *J, "--port", port)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"hookbus: port {port} is not available (Address already in use)")


def test_who_reads_no_further_ends_it_quietly(stocked):
    with subprocess.Popen(
        [sys.executable, "-m", "hookbus", "log", "--limit", "100000", *J], cwd=stocked,
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as begun:  # fmt: skip
        begun.stdout.close()
        err = begun.stderr.read()
    assert (begun.returncode, err) == (0, b"")


def test_a_terminal_that_knows_few_characters_is_told_in_those(stocked):
    bus = Bus()

    @hookable(bus=bus)
    def größe():
        """Do nothing."""

    with Journal("night.journal") as journal:
        journal.attach(bus)
        größe()
    ran = subprocess.run(
        [sys.executable, "-m", "hookbus", "log", "--limit", "1", *J], cwd=stocked,
        capture_output=True, text=True, env=environment(PYTHONIOENCODING="ascii"),
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert r"gr\xf6\xdfe of function" in ran.stdout


def test_reading_with_HOOKBUS_JOURNAL_set_makes_no_journal_and_writes_none(stocked):
    ran = subprocess.run(
        [sys.executable, "-m", "hookbus", "log"], cwd=stocked, capture_output=True, text=True,
        env=environment(HOOKBUS_JOURNAL="nosuch.journal"),
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "hookbus: the journal nosuch.journal does not exist: " \
                         "create it with hookbus run --journal\n"  # fmt: skip
    assert not (stocked / "nosuch.journal").exists()
