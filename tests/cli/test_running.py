"""`hookbus run`: a program runs as Python runs it, and is watched over."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from hookbus import Ask, Bus, HookError, hookable
from hookbus._program.waiting import Waited
from hookbus.adapters._pauses import Pausing
from hookbus.approvals import ApprovalPending, Approved, Store
from hookbus.journal import Journal
from tests.cli.conftest import environment

SHOWS = """\
import sys
print(sys.argv, sys.path[0], __name__, __file__, __package__, __spec__ and __spec__.name)
print(sorted(globals()), type(__loader__).__name__, sys.modules["__main__"].__dict__ is globals())
"""

PROGRAMS = {
    "a script": (SHOWS, ["script.py", "--json", "-x", "--", "run", "--help"]),
    "argparse": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--json', required=True)\n"
        "print(p.parse_args())\n", ["script.py", "--nothing"],
    ),
    "asyncio": (
        "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    print('done')\n"
        "asyncio.run(main())\n", ["script.py"],
    ),
    "a pickle of its own class": (
        "import pickle\nclass A: ...\nprint(type(pickle.loads(pickle.dumps(A()))) is A)\n",
        ["script.py"],
    ),
    "a process of its own": (
        "import multiprocessing as m\ndef f(x): return x * 2\n"
        "if __name__ == '__main__':\n"
        "    with m.get_context('spawn').Pool(1) as pool: print(pool.map(f, [1, 2]))\n",
        ["script.py"],
    ),
    "a thread that lives longer": (
        "import threading, time, atexit\natexit.register(print, 'exit')\n"
        "def late():\n    time.sleep(0.2)\n    print('late')\n"
        "threading.Thread(target=late).start()\n",
        ["script.py"],
    ),
    "exit code 7": ("import sys\nsys.exit(7)\n", ["script.py"]),
    "exit with words": ("raise SystemExit('no more')\n", ["script.py"]),
    "an exception": ("def f():\n    return {}['x']\ntry:\n    f()\nexcept KeyError as e:\n"
                     "    raise ValueError('here') from e\n", ["script.py"]),
    "a hook of its own for exceptions": (
        "import sys\nsys.excepthook = lambda kind, error, trace: print(kind, trace.tb_lineno)\n"
        "1/0\n",
        ["script.py"],
    ),
    "a closed output": ("import sys\nprint('x')\nsys.stdout.close()\n", ["script.py"]),
    "no Python": ("x = (\n", ["script.py"]),
    "a module that is missing": ("import nosuchthing\n", ["script.py"]),
    "a module": (SHOWS, ["-m", "script", "-m", "x"]),
    "a package": (SHOWS, ["-m", "package", "--version"]),
    "a folder": (SHOWS, ["package", "a"]),
}  # fmt: skip


def python(*words, cwd, **more):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=cwd,
                          env=environment(**more))  # fmt: skip


SHORT = ("a script", "argparse", "asyncio", "exit with words", "an exception", "a package",
         "a closed output")


@pytest.mark.parametrize("name", PROGRAMS if os.environ.get("HOOKBUS_LONG") else SHORT)
def test_a_program_runs_as_python_runs_it(name, tmp_path):
    text, words = PROGRAMS[name]
    (tmp_path / "script.py").write_text(text)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text(text)
    plain = python(*words, cwd=tmp_path)
    hooked = python("-m", "hookbus", "run", *words, cwd=tmp_path)
    assert hooked.stdout == plain.stdout
    assert hooked.stderr == plain.stderr
    assert hooked.returncode == plain.returncode


def test_an_interrupt_ends_a_program_as_python_does(tmp_path):
    (tmp_path / "script.py").write_text("import time\nprint('go', flush=True)\ntime.sleep(60)\n")
    ended = []
    for words in (["script.py"], ["-m", "hookbus", "run", "script.py"]):
        with subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=tmp_path, env=environment(), text=True,
        ) as begun:  # fmt: skip
            assert begun.stdout.readline() == "go\n"
            time.sleep(0.05)
            begun.send_signal(signal.SIGINT)
            ended.append((*begun.communicate(), begun.returncode))
    assert ended[0] == ended[1]
    assert ended[0][2] == -signal.SIGINT


def test_a_method_nobody_wrote_for_hooks_is_instrumented_and_counted(tmp_path):
    (tmp_path / "bank.py").write_text("class Bank:\n    def pay(self, amount): return amount\n")
    (tmp_path / "script.py").write_text("from bank import Bank\nprint(Bank().pay(3))\n")
    ran = python("-m", "hookbus", "run", "--json", "--instrument", "bank:Bank.pay", "script.py",
                 cwd=tmp_path)  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "3\n")
    assert json.loads(ran.stderr) == {"calls": {"returned": 1}}


PLUGIN = """\
format = 1
id = "frugal"
version = "1.0"
hooks = ["pre_pay"]
"""
CODE = """\
from hookbus import Block

def register(api):
    api.connect("pre_pay", little, role="guard")

def little(bank, amount):
    return Block("too much") if amount > 100 else None
"""


@pytest.fixture
def bank(tmp_path):
    (tmp_path / "plugins" / "frugal").mkdir(parents=True)
    (tmp_path / "plugins" / "frugal" / "hookbus-plugin.toml").write_text(PLUGIN)
    (tmp_path / "plugins" / "frugal" / "plugin.py").write_text(CODE)
    (tmp_path / "script.py").write_text(
        "from hookbus import hookable\n"
        "class Bank:\n    @hookable\n    def pay(self, amount): return amount\n"
        "print(Bank().pay(3))\nprint(Bank().pay(300))\n"
    )
    return tmp_path


@pytest.mark.parametrize("words, settings", [
    (["--plugin", "plugins/frugal"], ""),
    ([], '[tool.hookbus.plugins]\nuser = "plugins"\n'),
    (["--plugin=frugal"], '[tool.hookbus.plugins]\nuser = "plugins"\n'),
], ids=["folder", "settings", "id"])  # fmt: skip
def test_a_plugin_guards_a_program_that_knows_nothing_of_it(bank, words, settings):
    (bank / "pyproject.toml").write_text(settings)
    ran = python("-m", "hookbus", "run", *words, "script.py", cwd=bank)
    assert (ran.returncode, ran.stdout) == (1, "3\n")
    assert ran.stderr.endswith("pay was blocked by little: too much\n")


def test_what_the_settings_put_in_shadow_blocks_nothing(bank):
    (bank / "hookbus.toml").write_text('shadow = ["little"]\n[plugins]\nuser = "plugins"\n')
    ran = python("-m", "hookbus", "run", "script.py", cwd=bank)
    assert (ran.returncode, ran.stdout) == (0, "3\n300\n")


def test_what_the_settings_require_is_guarded_or_blocked(bank):
    (bank / "hookbus.toml").write_text('require_guard = ["pay"]\n')
    ran = python("-m", "hookbus", "run", "script.py", cwd=bank)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "no guard covers this call" in ran.stderr


def test_a_program_does_not_begin_without_a_plugin_that_is_to_guard_it(bank):
    (bank / "plugins" / "frugal" / "plugin.py").write_text("1 / 0\n")
    ran = python("-m", "hookbus", "run", "--plugin", "plugins/frugal", "script.py", cwd=bank)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("hookbus: error: plugin frugal") and ran.stderr.count("\n") == 1


@pytest.mark.parametrize("behind", [
    ["--plugin", "plugins/frugal"], ["-x", "--journal=j.db"], ["--approvals", "a.db"], ["--turns"],
])  # fmt: skip
def test_an_option_of_run_behind_the_program_is_refused(bank, behind):
    (bank / "says.py").write_text("import sys\nprint(sys.argv[1:])\n")
    refused = python("-m", "hookbus", "run", "says.py", *behind, cwd=bank)
    option = next(word for word in behind if word.startswith("--")).partition("=")[0]
    assert refused.returncode == 2 and not refused.stdout
    assert f"{option} comes after says.py" in refused.stderr
    assert f"write {option} before says.py" in refused.stderr


def test_an_option_of_run_behind_two_dashes_is_the_programs(bank):
    (bank / "says.py").write_text("import sys\nprint(sys.argv[1:])\n")
    behind = ["-x", "--journal=j.db", "--plugin", "plugins/frugal", "--turns"]
    for words in (["--", "says.py", *behind], ["says.py", "--", *behind]):
        ran = python("-m", "hookbus", "run", *words, cwd=bank)
        assert str(behind)[1:-1] in ran.stdout and ran.returncode == 0


@pytest.mark.parametrize("turns", [("--turns",), ()], ids=["an option", "the environment"])
def test_a_program_and_what_it_starts_are_in_the_journal(turns, tmp_path):
    (tmp_path / "script.py").write_text(
        "import subprocess, sys\nfrom hookbus import hookable, signal\n"
        "@hookable\ndef ring(n): return n\n"
        "signal('pre_ring').connect(lambda ring: None, role='guard', name='agrees', weak=False)\n"
        "print(ring(1))\n"
        "if len(sys.argv) == 1: subprocess.run([sys.executable, __file__, 'inside'], check=True)\n"
    )
    options = ("--journal", "night.journal", *turns, "--trace", "t.json", "--otel")
    said = {} if turns else {"HOOKBUS_TURNS": "1"}
    ran = python("-m", "hookbus", "run", *options, "script.py", cwd=tmp_path, **said)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "1\n1\n", "")
    records = [*Journal.reading(tmp_path / "night.journal").records(type="finished")]
    assert [record.subject for record in records] == ["ring", "ring"]
    assert len({record.run for record in records}) == 2
    turns = [*Journal.reading(tmp_path / "night.journal").records(type="invoked")]
    assert [record.data["answer"] for record in turns] == ["nothing", "nothing"]
    trace = json.loads((tmp_path / "t.json").read_text())
    assert [event["name"] for event in trace if event["ph"] == "X"] == ["ring"]


ASKS = """\
import asyncio
from hookbus import Ask, HookBlocked, default_bus, hookable, signal
from hookbus.approvals import Store

@hookable
def pay(amount): return f"paid {amount}"

@hookable
async def send(to): return f"sent to {to}"

signal("pre_pay").connect(lambda pay, amount: Ask(f"pay {amount}?"), role="guard", weak=False)
signal("pre_send").connect(lambda send, to: Ask(f"write to {to}?"), role="guard", weak=False)
"""


def test_a_call_waits_until_somebody_has_answered_at_the_store(tmp_path):
    (tmp_path / "script.py").write_text(f"{ASKS}print(pay(3), asyncio.run(send('ann')))\n")
    words = ("run", "--approvals", "approvals.db", "--wait", "60", "script.py")
    with subprocess.Popen(
        [sys.executable, "-m", "hookbus", *words], cwd=tmp_path, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as begun:  # fmt: skip
        while not (tmp_path / "approvals.db").exists():
            time.sleep(0.05)
        store, questions = Store(tmp_path / "approvals.db"), []
        while len(questions) < 2 and begun.poll() is None:
            for request in store.pending():
                questions.append(request.question)
                store.answer(request.id, Approved("ada"))
            time.sleep(0.05)
        assert begun.communicate(timeout=20) == ("paid 3 sent to ann\n", "")
    assert questions == ["pay 3?", "write to ann?"]


def test_a_call_that_nobody_answers_in_time_is_parked_at_the_store_of_the_settings(tmp_path):
    (tmp_path / "hookbus.toml").write_text('approvals = "approvals.db"\n')
    (tmp_path / "script.py").write_text(
        f"{ASKS}default_bus.approver(Store('approvals.db'))  # as it would do by itself\n"
        "try: pay(3)\nexcept HookBlocked as blocked: print(blocked.verdict.code)\n"
    )
    for options in ((), ("--wait", "0.1")):
        ran = python("-m", "hookbus", "run", *options, "script.py", cwd=tmp_path)
        assert (ran.stdout, ran.stderr) == ("pending\n", "")
    [request] = Store(tmp_path / "approvals.db").pending()
    assert request.arguments == {"amount": 3}


def test_a_yes_to_one_program_is_none_to_another(tmp_path):
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(f"{ASKS}try: print(pay(3))\nexcept HookBlocked: print('no')\n")

    def run(name):
        return python("-m", "hookbus", "run", "--approvals", "a.db", name, cwd=tmp_path).stdout

    assert run("first.py") == "no\n"
    store = Store(tmp_path / "a.db")
    store.answer(store.pending()[0].id, Approved("ada"))
    assert (run("second.py"), run("first.py")) == ("no\n", "paid 3\n")


def test_who_pauses_a_run_is_not_taken_for_the_store_that_waits(tmp_path):
    bus, store = Bus(), Store(tmp_path / "approvals.db")
    bus.approver(Waited(store, 1.0))
    assert bus.approver(store) is store  # which waits, too
    with pytest.raises(HookError, match="this bus already has an approver, Store"):
        bus.approver(Pausing(store))


def test_of_two_calls_that_wait_for_one_yes_one_passes_and_the_other_waits_on(tmp_path):
    store, answers = Store(tmp_path / "approvals.db"), []

    def on(approver):
        bus = Bus()
        bus.approver(approver)
        bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
        return hookable("pay", bus=bus)(paid)

    def go():
        with pytest.raises(ApprovalPending) as waits:
            on(Waited(store, 1.0))("ada")
        answers.append(waits.value.id)

    caller = threading.Thread(target=go)
    caller.start()
    while not store.pending():
        time.sleep(0.001)
    first = store.pending()[0].id
    store.answer(first, Approved("grace"))
    assert on(store)("ada") == "paid ada"  # before the other one looks again
    caller.join()
    assert answers == [store.pending()[0].id] != [first]


def paid(to):
    return f"paid {to}"
