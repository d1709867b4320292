"""Cells that are run again, in a real kernel: receivers do not pile up, and guards stay."""

import os

import pytest

from .run import environment, notebooks, printed_by

CLASS = """
from hookbus import Block, hookable, report, signal

class Agent:
    @hookable("act")
    def act(self, msg):
        return "VERSION " + msg

    @hookable("stream")
    async def stream(self, msg):
        yield "VERSION " + msg

    @classmethod
    @hookable("make")
    def make(cls, msg):
        return "VERSION " + msg

class Child(Agent):
    pass
"""

GUARDS = """
@signal("pre_act").connect_via(Agent, role="guard")
@signal("item_stream").connect_via(Agent, role="guard")
@signal("pre_make").connect_via(Child, role="guard")
def no_keys(agent, **given):
    return Block("VERSION") if "KEY" in str(given) else None

for word in ("a", "b"):
    @signal("pre_act").connect_via(Agent, role="guard")
    def of_word(agent, msg, word=word):
        return Block(word) if msg.split()[0] == word else None

@signal("pre_act").connect_via(Agent, role="guard")
def of_word(agent, msg):
    return Block("c") if msg.split()[0] == "c" else None

@signal("pre_act").connect
def seen(agent, msg):
    return {"msg": msg + " seen"}
"""

ASK = """
def said(call, *given):
    try:
        return call(*given)
    except Exception as error:
        return error.reason

async def first(msg):
    try:
        return [item async for item in Child().stream(msg)]
    except Exception as error:
        return error.reason

print(*[said(each().act, m) for each in (Agent, Child) for m in ("KEY", "a", "b", "c", "hi")])
print(await first("KEY"), said(Child.make, "KEY"), said(Agent.make, "KEY"))
print(*[len(signal(name).connections()) for name in ("pre_act", "item_stream", "pre_make")])
"""

LOG = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s")
"""


@pytest.fixture
def run(tmp_path):
    """Run cells in one kernel; each gives the lines it prints."""
    client = notebooks.nbclient.NotebookClient(
        notebooks.nbformat.v4.new_notebook(), timeout=120, kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )  # fmt: skip

    def run_cell(source, version="v1"):
        cell = notebooks.nbformat.v4.new_code_cell(source.replace("VERSION", version))
        client.nb.cells.append(cell)
        client.execute_cell(cell, len(client.nb.cells) - 1)
        return printed_by(cell)

    with client.setup_kernel(env={**environment(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}):
        run_cell(LOG)
        yield run_cell


def answers(of_class, of_guards):
    of_act = f"{of_guards} a b c {of_class} hi seen"
    return [f"{of_act} {of_act}", f"{of_guards} {of_guards} {of_class} KEY", "5 1 1"]


def test_a_cell_that_is_run_five_times_leaves_one_receiver(run):
    run(CLASS)
    for number in range(5):
        said = run(GUARDS, f"g{number // 2}")
        assert len(said) == (0 if number == 0 else 7)
        assert all("replaces the earlier definition" in line for line in said)
        assert run(ASK) == answers("v1", f"g{number // 2}")


def test_the_class_cell_run_again_keeps_its_guards(run):
    run(CLASS)
    run(GUARDS, "g")
    run("old = Agent()")
    for version in ("v2", "v3"):
        run(CLASS, version)
        said = run(ASK)
        assert [line for line in said if "INFO" not in line] == answers(version, "g")
        assert [line for line in said if "INFO" in line] == [
            f"INFO class {name} in __main__ was defined again, and takes over the connections "
            "of the earlier definition"
            for name in ("Agent", "Child")
        ]
        assert run("print(said(old.act, 'KEY'))") == ["g"]
    run("del Agent, Child, old; import gc; gc.collect()")
    run(CLASS, "v4")
    assert [line for line in run(ASK) if "INFO" not in line] == answers("v4", "g")
    assert len(run(GUARDS, "h")) == 7
    assert run(ASK) == answers("v4", "h")


def test_a_function_and_the_class_of_a_guard_alone_are_kept(run):
    run("from hookbus import Block, hookable, signal\n@hookable\ndef pay(msg): return 'paid'")
    run("signal('pre_pay').connect(lambda f: Block('no'), pay, role='guard')")
    run("@hookable\ndef pay(msg): return 'paid again'")
    assert run("try: pay(1)\nexcept Exception as error: print(error.reason)")[-1:] == ["no"]


AGENTS = CLASS + "NUMBERS = VERSION\n"

POLICIES = """
from hookbus import Block, signal
import agents
{more}

@signal("pre_act").connect_via(agents.Agent, role="guard")
def no_keys(agent, msg):
    return Block("VERSION") if "KEY" in msg else None

@signal("pre_act").connect_via(agents.Agent, role="guard")
def twin(agent, msg):
    return Block("one") if msg == "one" else None

@signal("pre_act").connect_via(agents.Agent, role="guard")
def twin(agent, msg):
    return Block("two") if msg == "two" else None
"""


def test_autoreload_keeps_guards_and_piles_up_no_receivers(run, tmp_path):
    times = iter(range(2_000_000_000, 2_100_000_000, 10))

    def write(name, text, version):
        path = tmp_path / f"{name}.py"
        path.write_text(text.replace("VERSION", version))
        moment = next(times)
        os.utime(path, (moment, moment))

    write("agents", AGENTS, "'v1'")
    write("policies", POLICIES.format(more=""), "g1")
    run("%load_ext autoreload\n%autoreload 2\nimport agents, policies\nfrom agents import Agent")
    run("from hookbus import signal\nobject_from_before = agents.Agent()")
    ask = """
    def said(call, *given):
        try:
            return call(*given)
        except Exception as error:
            return error.reason
    each = (agents.Agent(), agents.Child(), Agent(), object_from_before)
    print({said(one.act, "a KEY") for one in each}, {said(one.act, "two") for one in each})
    print([made.name for made in signal("pre_act").connections()])
    """
    for number in range(2, 5):  # the body of a guard: patched in place
        write("policies", POLICIES.format(more=""), f"g{number}")
        said = run(ask)
        assert said[-2:] == [f"{{'g{number}'}} {{'two'}}", "['no_keys', 'twin', 'twin']"]
    for number in range(2, 5):  # what is no function: the module is loaded again
        write("agents", AGENTS, f"print('agents {number}')")
        write("policies", POLICIES.format(more=f"print('policies {number}')"), f"h{number}")
        assert {f"agents {number}", f"policies {number}"} <= set(run("pass"))
        said = run(ask)
        assert said[-2:] == [f"{{'h{number}'}} {{'two'}}", "['no_keys', 'twin', 'twin']"]
