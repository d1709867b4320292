"""How a question is asked: walked until it is hot, then by generated code where that can be done."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from . import modes
from ._cancels import is_cancelled_error, running_task
from ._hook import FUNCTION_SITE
from ._question import Question
from ._resume import Unusual
from ._scope import Scope
from ._spec import Panel, Spec
from ._walk import walk
from ._workers import Pair

HOT: Final = 8
"""So many calls of a question are walked before it is compiled."""


def enter(spec: Spec, values: tuple[Any, ...]) -> Any:
    """Ask. `values` are the parameters' values in order."""
    spec.calls += 1
    if spec.calls == HOT:
        from ._question_source import compile_question

        version = spec.version
        run = compile_question(spec, partial(_resume, spec, spec.panel()))
        if run is not None:
            spec.go_to(run, version)
    return walk(_question(spec, values))


def _resume(
    spec: Spec, panel: Panel, values: tuple[Any, ...], so_far: list[Any], answer: Any, error: BaseException | None
) -> Any:
    """Walk on where generated code has stopped."""
    if error is not None and is_cancelled_error(error) and _is_cancelling():
        raise error
    turns: list[Pair] = [(value, None) for value in so_far]
    if error is not None:
        turns.append((answer, None) if isinstance(error, Unusual) else (None, error))
    else:
        spec.route(True)  # who now has a first turn can be compiled, too
    done = dict(zip((seat for _, seat in panel.seats), turns))
    return walk(_question(spec, values, panel, done=done))


def ask_all(spec: Spec, values: tuple[Any, ...]) -> Any:
    """Ask everybody, and return who answered what."""
    question = _question(spec, values, asks_all=True)
    started = walk(question)
    return _answers_later(question, started) if spec.is_async else _answers(question, started)


def replay(spec: Spec) -> Any:
    """Ask who was connected since of everything that was asked before, and return what they answered."""
    late = ((past, spec.newcomers(past)) for past in list(spec.history))
    questions = [_question(spec, past.values, asks_all=True, seats=seats, past=past) for past, seats in late if seats]
    return _replay_later(questions) if spec.is_async else tuple(_answers(question, walk(question)) for question in questions)


async def _replay_later(questions: list[Question]) -> tuple[modes.Answers[Any, Any], ...]:
    return tuple([_answers(question, await walk(question)) for question in questions])


def _question(spec: Spec, values: tuple[Any, ...], panel: Panel | None = None, **options: Any) -> Question:
    panel = panel or spec.panel()
    options = {"seats": panel.seats, "scope": Scope.around(spec), **options}
    return Question(spec, FUNCTION_SITE, panel.plan, spec.shell, values, **options)


def _is_cancelling() -> bool:
    task = running_task()
    return task is not None and task.cancelling() > 0


def _answers(question: Question, result: Any) -> modes.Answers[Any, Any]:
    return modes.Answers(tuple(question.answers), tuple(question.failures), result)


async def _answers_later(question: Question, started: Any) -> modes.Answers[Any, Any]:
    return _answers(question, await started)
