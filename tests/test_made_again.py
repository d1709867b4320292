"""What is made again, by a cell, a prompt, a reload or a script that runs again, is what it was:
guards stay, and receivers do not pile up.
"""

import asyncio
import gc
import importlib
import importlib.util
import logging
import runpy
import subprocess
import sys
from textwrap import dedent
from types import ModuleType

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, default_bus, hookable, report, signal

AGENTS = """
from hookbus import hookable

class Agent:
    @hookable("made_sync")
    def sync(self, msg):
        return "VERSION " + msg

    @hookable("made_async")
    async def asynchronous(self, msg):
        return "VERSION " + msg

    @hookable("made_stream")
    def stream(self, msg):
        yield "VERSION " + msg

    @hookable("made_async_stream")
    async def async_stream(self, msg):
        yield "VERSION " + msg

    @classmethod
    @hookable("made_class")
    def of_class(cls, msg):
        return "VERSION " + msg

    @staticmethod
    @hookable("made_static")
    def static(msg):
        return "VERSION " + msg

class Child(Agent):
    pass

@hookable("made_function")
def function(msg):
    return "VERSION " + msg
"""

POLICIES = """
from hookbus import Block, signal
import agents_made

@signal("pre_made_sync").connect_via(agents_made.Agent, role="guard")
def no_keys(agent, msg):
    return Block("VERSION") if "KEY" in msg else None

@signal("pre_made_sync").connect
def seen(agent, msg):
    return {"msg": msg + " seen"}
"""

HOOKS = ("sync", "async", "stream", "async_stream", "class", "static", "function")


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module, and say what is there in it by then."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    written = []

    def write(name, text, version="v1"):
        (tmp_path / f"{name}.py").write_text(text.replace("VERSION", version))
        importlib.invalidate_caches()
        written.append(name)
        return sys.modules.get(name) or importlib.import_module(name)

    yield write
    for name in written:
        sys.modules.pop(name, None)
    for each in default_bus.signals():
        if "_made_" in each.name:
            each._clear_state()


def everything_says(agents, msg):
    """Call everything in the module, and return what each says."""

    async def items(stream):
        return [item async for item in stream]

    agent = agents.Child()
    calls = [
        lambda: agent.sync(msg), lambda: asyncio.run(agent.asynchronous(msg)),
        lambda: list(agent.stream(msg))[0], lambda: asyncio.run(items(agent.async_stream(msg)))[0],
        lambda: agents.Child.of_class(msg), lambda: agents.Agent.static(msg),
        lambda: agents.function(msg),
    ]  # fmt: skip
    return [said_by(call) for call in calls]


def said_by(call):
    try:
        return call()
    except HookBlocked as blocked:
        return blocked.reason


def guard_everything(agents):
    """Connect guards, and nothing that keeps the module's classes alive."""

    def no_keys(sender, msg):
        return Block("no keys") if "KEY" in msg else None

    senders = {"static": agents.Agent.static, "function": agents.function}
    for hook in HOOKS:
        sender = senders.get(hook, agents.Agent)
        signal(f"pre_made_{hook}").connect(no_keys, sender, role="guard")


def names_on(name):
    return [each.name for each in signal(name).connections()]


# -- what is connected to a class or a function stays with its name --------------------------------


def reloaded(agents):
    return importlib.reload(agents)


def imported_again(agents):
    del sys.modules[agents.__name__]
    return importlib.import_module(agents.__name__)


def patched_as_ipython_does(agents):
    name, loader = agents.__name__, agents.__loader__
    agents.__dict__.clear()
    agents.__dict__.update(__name__=name, __loader__=loader)
    return importlib.reload(agents)


WAYS = pytest.mark.parametrize("again", [reloaded, imported_again, patched_as_ipython_does])
KEPT = pytest.mark.parametrize("is_kept", [True, False], ids=["old kept alive", "old collected"])


@WAYS
@KEPT
def test_a_module_that_is_loaded_again_keeps_its_guards(module, again, is_kept):
    agents = module("agents_made", AGENTS)
    guard_everything(agents)
    kept = [agents.Agent, agents.Agent.static, agents.function] if is_kept else []
    assert everything_says(agents, "KEY") == ["no keys"] * 7
    for version in ("v2", "v3"):
        module("agents_made", AGENTS, version)
        agents = again(agents)
        gc.collect()
        assert everything_says(agents, "hi") == [f"{version} hi"] * 7
        assert everything_says(agents, "KEY") == ["no keys"] * 7
    assert len(kept) == (3 if is_kept else 0)


def test_what_is_made_again_and_keeps_its_guards_is_guarded_for_require_too(module):
    agents = module("agents_made", AGENTS)
    guard_everything(agents)
    kept = agents.Agent, agents.Child, agents.function
    agents = importlib.reload(agents)
    for hook in HOOKS:
        default_bus.require_guard(f"made_{hook}")
    default_bus.require_guard("made_sync", sender=kept[1])
    signal("pre_made_sync")._clear_state()
    with pytest.raises(HookError, match="no guard covers every 'made_sync' call of .*Agent"):
        default_bus.require_guard("made_sync")


def test_objects_of_the_class_before_keep_the_guards_too(module):
    agents = module("agents_made", AGENTS)
    old = agents.Agent()
    importlib.reload(agents)
    guard_everything(agents)
    assert said_by(lambda: old.sync("KEY")) == "no keys"
    assert old.sync("hi") == "v1 hi"


def test_a_handle_from_before_takes_back_and_switches_what_holds_now(module):
    agents = module("agents_made", AGENTS)
    held = signal("pre_made_sync").connected_to(lambda a: Block("no"), agents.Agent, role="guard")
    del agents.Agent, agents.Child
    agents = importlib.reload(agents)
    gc.collect()
    assert said_by(lambda: agents.Agent().sync("hi")) == "no"
    held.disable()
    assert agents.Agent().sync("hi") == "v1 hi"
    held.enable()
    assert said_by(lambda: agents.Agent().sync("hi")) == "no"
    held.disconnect()
    assert agents.Agent().sync("hi") == "v1 hi"
    assert names_on("pre_made_sync") == []


def test_a_guard_is_taken_from_the_new_class_by_its_name(module):
    agents = module("agents_made", AGENTS)

    def guard(agent):
        return Block("no")

    signal("pre_made_sync").connect(guard, agents.Agent, role="guard")
    agents = importlib.reload(agents)
    signal("pre_made_sync").disconnect(guard, agents.Agent)
    assert agents.Agent().sync("hi") == "v1 hi"


def test_a_guard_that_no_longer_fits_the_new_method_blocks(module):
    agents = module("agents_made", AGENTS)
    signal("pre_made_sync").connect(lambda a, msg: None, agents.Agent, role="guard")
    module("agents_made", AGENTS.replace("def sync(self, msg)", "def sync(self, text, msg2='')")
           .replace("VERSION \" + msg\n\n    @hookable(\"made_async\")",
                    "VERSION \" + text\n\n    @hookable(\"made_async\")"))  # fmt: skip
    agents = importlib.reload(agents)
    with pytest.raises(HookBlocked):
        agents.Agent().sync("hi")


def test_what_takes_over_is_said_once_at_info(module, caplog):
    caplog.set_level(logging.INFO, "hookbus")
    agents = module("agents_made", AGENTS)
    guard_everything(agents)
    agents = importlib.reload(agents)
    for _ in range(3):
        everything_says(agents, "hi")
    said = [record.getMessage() for record in caplog.records if record.levelname == "INFO"]
    assert sorted(said) == [
        f"{it} in agents_made was defined again, and takes over the connections of the earlier "
        "definition"
        for it in ("class Agent", "function Agent.static", "function function")
    ]


def test_classes_of_one_name_that_no_module_has_under_it_are_apart():
    bus = Bus()

    def make():
        class Agent:
            @hookable("act", bus=bus)
            def act(self):
                return "acted"

        Agent.__qualname__ = "Agent"
        return Agent

    first, second = make(), make()
    bus.signal("pre_act").connect(lambda agent: Block("no"), first, role="guard")
    assert said_by(first().act) == "no"
    assert second().act() == "acted"
    (finding,) = [each for each in report(bus).findings if "does not guard" in each]
    assert "another class Agent of" in finding and "connect the guard to the new one" in finding


def test_a_class_that_derives_from_one_of_its_name_runs_a_receiver_once(module):
    agents = module("agents_made", AGENTS + "\nclass Agent(Agent):\n    pass\n")
    asked = []
    signal("pre_made_sync").connect(lambda agent: asked.append(agent), agents.Agent)
    agents.Agent().sync("hi")
    assert len(asked) == 1
    assert len(list(signal("pre_made_sync").receivers_for(agents.Agent()))) == 1


# -- a receiver that is made again takes the place of the one before -------------------------------


@WAYS
def test_receivers_of_a_module_that_is_loaded_again_do_not_pile_up(module, again):
    agents = module("agents_made", AGENTS)
    policies = module("policies_made", POLICIES)
    for version in ("v2", "v3"):
        module("policies_made", "\n\n" + POLICIES, version)
        policies = again(policies)
        assert names_on("pre_made_sync") == ["no_keys", "seen"]
        assert said_by(lambda: agents.Agent().sync("KEY")) == version
        assert agents.Agent().sync("hi") == "v1 hi seen"


GUARDS = """
from hookbus import Block, signal

@signal("pre_made_sync").connect_via(role="guard")
def NAME(agent, msg):
    return Block("VERSION") if "NAME" in msg else None
"""


def test_a_guard_stays_that_is_not_in_a_text_that_ran_again(module):
    agents = module("agents_made", AGENTS)
    both = GUARDS.replace("NAME", "first") + GUARDS.replace("NAME", "second")
    guards = module("guards_made", both)
    module("guards_made", GUARDS.replace("NAME", "second"), "v2")
    importlib.reload(guards)
    assert names_on("pre_made_sync") == ["first", "second"]
    assert said_by(lambda: agents.Agent().sync("first")) == "v1"
    assert said_by(lambda: agents.Agent().sync("second")) == "v2"


def test_what_takes_a_place_is_said_at_info(module, caplog):
    caplog.set_level(logging.INFO, "hookbus")
    module("agents_made", AGENTS)
    policies = module("policies_made", POLICIES)
    importlib.reload(policies)
    said = [record.getMessage() for record in caplog.records]
    assert [each.split(" (")[0] for each in said] == ["no_keys", "seen"]
    again = "was defined again, and replaces the earlier definition"
    assert said[0].endswith(f"on pre_made_sync {again}")


def test_one_made_again_keeps_its_place_in_the_order(module):
    module("agents_made", AGENTS)
    policies = module("policies_made", POLICIES)
    signal("pre_made_sync").connect(lambda agent: None, name="later")
    importlib.reload(policies)
    assert names_on("pre_made_sync") == ["no_keys", "seen", "later"]


TWINS = """
from hookbus import Block, signal

@signal("pre_made_sync").connect_via(role="guard")
def guard(agent, msg):
    return Block("first") if msg == "first" else None

@signal("pre_made_sync").connect_via(role="guard")
def guard(agent, msg):
    return Block("second") if msg == "second" else None

for word in ("a", "b"):
    @signal("pre_made_sync").connect_via(role="guard")
    def of_word(agent, msg, word=word):
        return Block(word) if msg == word else None

@signal("pre_made_sync").connect_via(role="guard")
def _(agent, msg):
    return Block("nameless") if msg == "nameless" else None

signal("pre_made_sync").connect(guard, role="guard", priority=1)
"""


@WAYS
def test_two_of_one_name_and_those_of_a_loop_are_never_taken_for_one(module, again):
    agents = module("agents_made", AGENTS)
    twins = module("twins_made", TWINS)
    for _ in range(3):
        assert names_on("pre_made_sync").count("guard") == 2
        assert names_on("pre_made_sync").count("of_word") == 2
        for word in ("first", "second", "a", "b", "nameless"):
            assert said_by(lambda: agents.Agent().sync(word)) == word
        twins = again(twins)


def test_texts_that_run_side_by_side_under_one_name_are_apart(module, tmp_path):
    agents = module("agents_made", AGENTS)
    text = dedent("""
        from hookbus import Block, signal

        @signal("pre_made_sync").connect_via(role="guard")
        def limit(agent, msg):
            return Block(LIMIT) if msg == LIMIT else None
    """)
    path = tmp_path / "tenant.py"
    path.write_text(text)
    for tenant in ("x", "y"):
        exec(compile(text, path, "exec"), {"__name__": "tenant", "LIMIT": tenant})
    for file in ("one", "two"):
        (tmp_path / f"{file}.py").write_text(text)
        spec = importlib.util.spec_from_file_location("tenant", tmp_path / f"{file}.py")
        made = importlib.util.module_from_spec(spec)
        made.LIMIT = file
        sys.modules["tenant"] = made
        spec.loader.exec_module(made)
    del sys.modules["tenant"]
    for word in ("x", "y", "one", "two"):
        assert said_by(lambda: agents.Agent().sync(word)) == word


def test_a_layer_is_taken_back_by_its_handle_alone(module):
    module("agents_made", AGENTS)
    text = POLICIES.replace(".connect\ndef seen", ".connected_to\ndef seen")
    policies = module("policies_made", text)
    before = policies.seen
    importlib.reload(policies)
    assert names_on("pre_made_sync") == ["no_keys", "seen", "seen"]
    policies.seen.disconnect()
    before.disconnect()
    assert names_on("pre_made_sync") == ["no_keys"]


def test_receivers_of_one_line_are_a_finding():
    bus = Bus()
    for _ in range(3):
        bus.signal("pre_act").connect(lambda agent: None, name="each")
    (finding,) = [each for each in report(bus).findings if "times to" in each]
    assert finding.startswith("each (") and "is connected 3 times to pre_act:" in finding


def test_a_classmethod_that_receives_for_its_own_class_is_made_again_with_it(module):
    text = AGENTS + dedent("""
        from hookbus import Block, signal

        class Guarded(Agent):
            @classmethod
            def check(cls, agent, msg):
                return Block("VERSION") if "KEY" in msg else None

        signal("pre_made_sync").connect(Guarded.check, Guarded, role="guard")
    """)
    agents = module("agents_made", text)
    module("agents_made", text, "v2")
    agents = importlib.reload(agents)
    gc.collect()
    assert names_on("pre_made_sync") == ["Guarded.check"]
    assert said_by(lambda: agents.Guarded().sync("KEY")) == "v2"
    assert agents.Guarded().sync("hi") == "v2 hi"


def test_a_classmethod_that_guards_its_own_class_is_not_lost_with_it(module):
    text = AGENTS + dedent("""
        from hookbus import Block

        class Guarded(Agent):
            @classmethod
            def check(cls, agent, msg):
                return Block("VERSION") if "KEY" in msg else None
    """)
    agents = module("agents_made", text)
    signal("pre_made_sync").connect(agents.Guarded.check, agents.Guarded, role="guard")
    module("agents_made", text, "v2")
    agents = importlib.reload(agents)
    gc.collect()
    assert said_by(lambda: agents.Guarded().sync("KEY")) == "v1"
    assert agents.Guarded().sync("hi") == "v2 hi"


# -- a script that is run again, as Streamlit does -------------------------------------------------

SCRIPT = """
from hookbus import Block, hookable, signal

class Agent:
    @hookable("made_sync")
    def sync(self, msg):
        return "VERSION " + msg

@signal("pre_made_sync").connect_via(Agent, role="guard")
def no_keys(agent, msg):
    return Block("VERSION") if "KEY" in msg else None

connect_once(Agent)
"""


@pytest.mark.parametrize("is_edited", [False, True])
def test_a_script_that_is_run_again_in_a_new_main_keeps_one_of_each(
    module, monkeypatch, tmp_path, is_edited
):
    module("agents_made", AGENTS)
    once = []

    def connect_once(cls):
        if not once:
            once.append(True)
            receiver = lambda agent, msg: Block("once") if msg == "once" else None  # noqa: E731
            signal("pre_made_sync").connect(receiver, cls, role="guard")

    path = tmp_path / "app.py"
    code = compile(SCRIPT, path, "exec")
    for number in range(4):
        if is_edited:
            code = compile("\n" * number + SCRIPT.replace("VERSION", f"v{number}"), path, "exec")
        main = ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", main)
        main.__dict__.update(__file__=str(path), connect_once=connect_once)
        exec(code, main.__dict__)
        gc.collect()
        version = f"v{number}" if is_edited else "VERSION"
        assert said_by(lambda: main.Agent().sync("KEY")) == version
        assert said_by(lambda: main.Agent().sync("once")) == "once"
        assert len(names_on("pre_made_sync")) == 2


def test_a_path_that_is_run_twice_under_a_name_of_its_own_is_two(module, tmp_path):
    agents = module("agents_made", AGENTS)
    path = tmp_path / "limits.py"
    path.write_text(dedent("""
        import agents_made
        from hookbus import Block, signal

        class Agent(agents_made.Agent):
            pass

        @signal("pre_made_sync").connect_via(role="guard")
        def limit(agent, msg):
            return Block(LIMIT) if msg == LIMIT else None

        signal("pre_made_async").connect(lambda agent: {"msg": LIMIT}, Agent)
    """))
    made = {word: runpy.run_path(str(path), {"LIMIT": word})["Agent"] for word in ("x", "y")}
    for word in ("x", "y"):
        assert said_by(lambda: agents.Agent().sync(word)) == word
        assert asyncio.run(made[word]().asynchronous("hi")) == f"v1 {word}"


# -- at a prompt -----------------------------------------------------------------------------------

TYPED = """\
import gc, logging, sys
from hookbus import Block, hookable, signal
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s")
class Agent:
    @hookable("act")
    def act(self, msg): return "v1 " + msg

@signal("pre_act").connect_via(Agent, role="guard")
def check(agent, msg): return Block("first") if msg == "bad" else None

@signal("pre_act").connect_via(Agent, role="guard")
def check(agent, msg): return Block("second") if msg == "bad" else None

@signal("pre_act").connect_via(Agent, role="guard")
def _(agent, msg): return Block("a") if msg == "a" else None

@signal("pre_act").connect_via(Agent, role="guard")
def _(agent, msg): return Block("b") if msg == "b" else None

for word in "cd":
    @signal("pre_act").connect_via(Agent, role="guard")
    def loop(agent, msg, word=word): return Block(word) if msg == word else None

class Agent:
    @hookable("act")
    def act(self, msg): return "v2 " + msg

gc.collect() * 0
def said(msg):
    try: return Agent().act(msg)
    except Exception as error: return error.reason

print("RESULT", *map(said, ["bad", "a", "b", "c", "d", "hi"]))
print("RESULT", len(signal("pre_act").connections()))
"""


@pytest.mark.parametrize("how", ["-i", "code", "code.interact"])
def test_what_is_typed_again_takes_the_place_of_what_was_typed(how):
    interact = "import code; code.interact(local={'__name__': '__main__'})"
    command = {"-i": ["-i"], "code": ["-m", "code"], "code.interact": ["-c", interact]}[how]
    ran = subprocess.run(
        [sys.executable, "-W", "error", *command], input=TYPED, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    results = [line for line in ran.stdout.splitlines() if "RESULT" in line]
    said = [line.partition("RESULT ")[2] for line in results]
    assert said == ["second a b c d v2 hi", "5"], ran.stdout + ran.stderr
    infos = [line for line in ran.stdout.splitlines() if "INFO" in line]
    assert "check (" in infos[0] and "replaces the earlier definition" in infos[0]


def test_a_script_is_no_prompt(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(TYPED)
    ran = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    said = [line.partition("RESULT ")[2] for line in ran.stdout.splitlines() if "RESULT" in line]
    assert said == ["first a b c d v2 hi", "6"], ran.stdout + ran.stderr
