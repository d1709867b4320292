"""How a question is asked: walked until it is hot, then by generated code where that can be done."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs

from .. import modes
from .._calls.resume import NOWHERE, Known, Replay, Stop
from .._calls.turns import Answer
from .._calls.walk import walk
from .._hooks.hook import FUNCTION_SITE
from .._hooks.shell import HOT
from .providers import Scope
from .question import Question
from .spec import Panel, Spec


def enter(spec: Spec, values: tuple[Any, ...]) -> Any:
    """Ask. `values` are the parameters' values in order."""
    spec.calls = calls = spec.calls + 1  # of threads that ask at once none may miss the count
    if calls == HOT:
        from .question_source import compile_question

        version = spec.version
        run = compile_question(spec, partial(_resume, spec, spec.panel()))
        if run is not None:
            spec.go_to(run, version)
    return walk(_question(spec, values))


def _resume(
    spec: Spec, panel: Panel, values: tuple[Any, ...], so_far: list[Any], answer: Any, error: BaseException | None,
    cancels: int = 0,
) -> Any:  # fmt: skip
    """Walk on where generated code has stopped."""
    seats = [seat for _, seat in panel.seats]
    known = Known({seat: Answer(value) for seat, value in zip(seats, so_far)})
    if error is None:
        spec.route(True)  # who now has a first turn can be compiled, too
        stop = Stop(NOWHERE, known=known)
    elif len(so_far) == len(seats):
        raise error  # an interrupt that came when all had answered
    else:
        stop = attrs.evolve(Stop.of(len(so_far), answer, error, None, cancels), known=known)
    question = _question(spec, values, panel, scope=None)
    question.is_observed = False
    return walk(question, partial(Replay, {seat: place for place, seat in enumerate(seats)}, stop))


def ask_all(spec: Spec, values: tuple[Any, ...]) -> Any:
    """Ask everybody, and return who answered what."""
    question = _question(spec, values, asks_all=True)
    started = walk(question)
    return _answers_later(question, started) if spec.is_async else _answers(question, started)


def replay(spec: Spec) -> Any:
    """Ask who was connected since of everything that was asked before, and return what they answered."""
    # Each is settled when its turn comes: what one that raises keeps from being asked is there for the next replay.
    late = ((past, spec.newcomers(past)) for past in list(spec.history))
    questions = (_question(spec, past.values, asks_all=True, seats=seats, past=past) for past, seats in late if seats)
    return _replay_later(questions) if spec.is_async else tuple(_answers(question, walk(question)) for question in questions)


async def _replay_later(questions: Iterator[Question]) -> tuple[modes.Answers[Any, Any], ...]:
    return tuple([_answers(question, await walk(question)) for question in questions])


def _question(spec: Spec, values: tuple[Any, ...], panel: Panel | None = None, **options: Any) -> Question:
    panel = panel or spec.panel()
    options = {"seats": panel.seats, "scope": Scope.around(spec), **options}
    return Question(spec, FUNCTION_SITE, panel.plan, spec.shell, values, **options)


def _answers(question: Question, result: Any) -> modes.Answers[Any, Any]:
    return modes.Answers(tuple(question.attempt.answers), tuple(question.attempt.failures), result)


async def _answers_later(question: Question, started: Any) -> modes.Answers[Any, Any]:
    return _answers(question, await started)
