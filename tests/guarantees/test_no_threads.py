"""An interpreter that allows no threads runs all calls; what needs a thread says that it does."""

import subprocess
import sys

import pytest

PROGRAM = """
from hookbus import Bus, HookBlocked, events, hookable

bus, failures = Bus(), []

class Agent:
    @hookable("say", bus=bus, async_receivers=True)
    def say(self, msg):
        return msg

async def is_async(agent, msg):
    return None

def calls(**options):
    receiver = options.pop("receiver", lambda agent, msg: {"msg": msg + "!"})
    failures.clear()
    with bus.signal("pre_say").connected_to(receiver, **options):
        try:
            answer = Agent().say("hi")
        except HookBlocked as blocked:
            answer = str(blocked)
    print(answer, [str(each) for each in failures], sep=": ")

bus.events.connect(lambda _, event: failures.append(event.exception), kinds=(events.Failed,))
calls()
calls(timeout=1)
calls(timeout=1, role="guard", name="guard")
calls(receiver=lambda agent, msg: None, role="observe", background=True)
calls(receiver=is_async)
"""

START = """
import sys
if sys.version_info >= (3, 14):
    from concurrent import interpreters
    run = interpreters.create().exec
elif sys.version_info >= (3, 13):
    import _interpreters
    run = lambda text: _interpreters.run_string(_interpreters.create("isolated"), text)
else:
    import _xxsubinterpreters
    run = lambda text: _xxsubinterpreters.run_string(_xxsubinterpreters.create(), text)
run(f"import sys; sys.path[:] = {sys.path!r}\\n" + sys.argv[1])
"""


OUT_OF_THREADS = """
import sys, threading

def refuse(thread):
    raise RuntimeError("can't start new thread")

threading.Thread.start = refuse
sys.platform = sys.argv[1]

from hookbus import Bus, ReceiverError, hookable

bus = Bus()
say = hookable("say", bus=bus)(lambda msg: msg)
bus.signal("pre_say").connect(lambda sender: None, timeout=1, on_error="raise")
try:
    say("hi")
except ReceiverError as error:
    print(type(error.__cause__).__name__)
"""

CONTEXTS = """
import threading
from contextvars import ContextVar
from hookbus import Bus, hookable

variable, seen, start = ContextVar("variable", default="empty"), [], threading.Thread.start

def note(thread):
    seen.append(variable.get())
    start(thread)

threading.Thread.start = note
bus = Bus()
say = hookable("say", bus=bus)(lambda msg: msg)
bus.signal("pre_say").connect(lambda sender: seen.append(variable.get()), timeout=60)
variable.set("of the call")
say("hi")
print(seen)
"""


def output_of(program, *arguments):
    command = [sys.executable, "-c", program, *arguments]
    # CPython 3.12.1 aborts where a program ends that has made a subinterpreter.
    is_checked = sys.version_info[:2] != (3, 12)
    return subprocess.run(command, capture_output=True, text=True, check=is_checked).stdout


def test_in_a_subinterpreter_a_deadline_or_a_background_says_that_it_needs_threads():
    needs = "need threads, which this interpreter does not allow"
    assert output_of(START, PROGRAM).splitlines() == [
        "hi!: []",
        f"hi: ['deadlines {needs}']",
        f"say was blocked by guard: guard failed: deadlines {needs}: ['deadlines {needs}']",
        f"hi: ['sync background observers {needs}']",
        f"hi: ['async receivers of sync calls {needs}']",
    ]


@pytest.mark.parametrize(
    ("platform", "expected"), [("emscripten", "HookError"), ("linux", "RuntimeError")]
)
def test_a_system_that_is_out_of_threads_is_told_from_one_that_has_none(platform, expected):
    assert output_of(OUT_OF_THREADS, platform) == f"{expected}\n"


def test_a_worker_is_started_in_an_empty_context_and_runs_receivers_in_that_of_the_call():
    assert output_of(CONTEXTS) == "['empty', 'of the call']\n"
