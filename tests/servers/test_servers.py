"""A guard with a deadline answers under every server, whatever it does to threads and processes."""

import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from hookbus.journal import Journal

from . import guarded

ANSWERS = {
    "agrees": "the tool ran",
    "refuses": "was blocked by judge: not today",
    "sleeps": "was blocked by judge: guard failed: TimeoutError",
    "holds": "was blocked by judge: guard failed: TimeoutError",
    "awaited": "was blocked by judge_awaited: not today, said after a wait",
    "awaited_late": "was blocked by judge_awaited: guard failed: TimeoutError",
}
ANSWERS_OF_GREENLETS = ANSWERS | dict.fromkeys(
    ("awaited", "awaited_late"),
    "was blocked by judge_awaited: guard failed: it is async, but gevent or eventlet has replaced "
    "the threads that async receivers of sync calls need: write a plain def receiver",
)
GUNICORN = ("gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket", "--graceful-timeout", "3")
WORKERS = {"sync": (), "gthread": ("--threads", "4"), "gevent": ()}


def assert_guards_answer(server, answers=ANSWERS):
    """Each guard gives the answer that it would give without a server, and the server serves on."""
    for guard, answer in answers.items():
        assert server.get(guard).endswith(answer), guard
    assert server.get("agrees") == ANSWERS["agrees"]


def assert_calls_run_beside_each_other(server, answers=ANSWERS):
    """A guard that sleeps past its deadline holds up no call but its own."""
    with ThreadPoolExecutor(8) as pool:
        late = [pool.submit(server.get, guard) for guard in ("sleeps", "awaited_late") * 2]
        began = time.monotonic()
        soon = [pool.submit(server.get, guard) for guard in ("agrees", "awaited")]
        assert [each.result() for each in soon][0] == ANSWERS["agrees"]
        took = time.monotonic() - began
        for each, guard in zip(late, ("sleeps", "awaited_late") * 2, strict=True):
            assert each.result().endswith(answers[guard])
    assert took < guarded.SLEEP / 2


@pytest.mark.parametrize("preload", [(), ("--preload",)], ids=["", "preload"])
@pytest.mark.parametrize("worker", WORKERS)
def test_gunicorn(serve, worker, preload):
    words = ("--worker-class", worker, *WORKERS[worker], *preload)
    # What is imported makes a call already: under --preload before the fork, and before gevent.
    server = serve(*GUNICORN, *words, "tests.servers.guarded:wsgi", CALL_AT_IMPORT="1")
    answers = ANSWERS_OF_GREENLETS if worker == "gevent" else ANSWERS
    assert_guards_answer(server, answers)
    if worker != "sync":
        assert_calls_run_beside_each_other(server, answers)
    server.end()
    finished = Journal.reading(server.journal).records(type="finished")
    outcomes = Counter(record.data["outcome"] for record in finished)
    more = Counter() if worker == "sync" else Counter(blocked=5, returned=1)
    assert outcomes == Counter(blocked=5, returned=3) + more


def test_gunicorn_gevent_is_asked_by_attach(serve):
    words = ("--worker-class", "gevent", "--preload")
    server = serve(*GUNICORN, *words, "tests.servers.guarded:wsgi", CALL_AT_IMPORT="1")
    assert server.get("refuses").endswith(ANSWERS["refuses"])
    worker = server.wait_for(r"Booting worker with pid: (\d+)")[1]
    switched = serve("hookbus", "attach", worker, "disable", "judge")
    switched.process.wait(20)
    assert switched.process.returncode == 0, switched.lines
    assert server.get("refuses") == ANSWERS["agrees"]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_uvicorn(serve, loop):
    words = ("--port", "0", "--loop", loop, "--lifespan", "off")
    server = serve("uvicorn", *words, "tests.servers.guarded:asgi")
    assert_guards_answer(server)
    assert_calls_run_beside_each_other(server)


def test_uvicorn_that_reloads(serve, tmp_path):
    program = tmp_path / "program.py"
    shutil.copy(guarded.__file__, program)
    words = ("--port", "0", "--reload", "--reload-dir", str(tmp_path), "--lifespan", "off")
    server = serve("uvicorn", *words, "program:asgi")
    assert_guards_answer(server)
    program.write_text(program.read_text().replace("not today", "not tomorrow"))
    server.wait_for(r"(?s)Started server process.*Started server process")
    assert server.get("refuses").endswith("was blocked by judge: not tomorrow")
    assert server.get("sleeps").endswith(ANSWERS["sleeps"])


def test_eventlet(serve):
    server = serve("tests.servers.on_eventlet")
    assert_guards_answer(server, ANSWERS_OF_GREENLETS)
    assert_calls_run_beside_each_other(server, ANSWERS_OF_GREENLETS)


def test_eventlet_that_comes_after_the_first_call(serve):
    server = serve("tests.servers.on_eventlet", "late", CALL_AT_IMPORT="1")
    assert_guards_answer(server, ANSWERS_OF_GREENLETS)


def test_celery_prefork(serve, tmp_path):
    words = ("--pool", "prefork", "--concurrency", "2", "--loglevel", "INFO")
    more = {"BROKER": str(tmp_path), "CALL_AT_IMPORT": "1"}
    worker = serve("celery", "--app", "tests.servers.on_celery", "worker", *words, **more)
    worker.wait_for(r"celery@.* ready")
    asked = serve("tests.servers.on_celery", *ANSWERS, **more)
    assert asked.process.wait(60) == 0, worker.lines
    for guard, answer in ANSWERS.items():
        assert asked.wait_for(f"(?m)^{guard}: (.*)$")[1].endswith(answer)
