"""Delays a framework's notifications to its own listeners about a model's answer until the guards
return.

Some frameworks report an answer, whole or in parts, from within the model call, before guards have
seen it. If a receiver may change or block the answer, the adapter holds back these reports until
all receivers have returned.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._held_back import Kept, is_held_back
from ._vocabulary import INSIDE, Attempt, Vocabulary

_log = logging.getLogger("hookbus")


class Aside:
    """The reports of one answer. Each adapter has a subclass that delivers them to the framework's
    listeners.

    Args:
        model: the model that is called.

    Attributes:
        reports: the reports that are held back; their type depends on the subclass.
        is_waiting: whether the model call is still running, so that new reports must be held back.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.reports, self.is_waiting = model, list[Any](), False
        self._kept = Kept(object())

    def report(self, each: Any) -> None:
        """Deliver a report as the framework would have delivered it."""
        raise NotImplementedError

    def report_changed(self, each: Any, answer: Any) -> None:
        """Deliver a report after a receiver changed or replaced the model's answer."""
        raise NotImplementedError

    def report_failed(self, each: Any, error: BaseException) -> None:
        """Deliver a report after the answer was discarded because of an error."""
        raise NotImplementedError

    def noting(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """Return a body for the attempt that first delivers the reports of an earlier attempt as
        failed.
        """

        def body(messages: Any, options: Any) -> Any:
            self._give_up(RuntimeError("the model was called again"))
            return self._note(ask(messages, options))

        return body

    def noting_async(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """Like `noting`, but for an async body."""

        async def body(messages: Any, options: Any) -> Any:
            self._give_up(RuntimeError("the model was called again"))
            return self._note(await ask(messages, options))

        return body

    def _note(self, answer: Any) -> Any:
        self._kept = Kept(answer)
        return answer

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Hold back reports while the block runs; if it raises, deliver them as failed."""
        self.is_waiting = True
        try:
            yield
        except BaseException as error:
            self._give_up(error)
            raise
        finally:
            self.is_waiting = False

    def give_out(self, answer: Any) -> Any:
        """Deliver the reports of an answer that the guards allowed, and return the answer."""
        is_still = self._kept.is_still(answer)
        for each in self._taken():
            if is_still:
                self.report(each)
            else:
                self.report_changed(each, answer)
        return answer

    def _give_up(self, error: BaseException) -> None:
        for each in self._taken():
            try:
                self.report_failed(each, error)
            except Exception as failure:  # the caller gets the outcome of the call
                kind = type(failure).__name__
                _log.warning("a failed answer of a model could not be reported: %s", kind)

    def _taken(self) -> list[Any]:
        reports, self.reports = self.reports, []
        return reports


def aside_of(model: Any = None) -> Aside | None:
    """Return the object that holds back the reports of the current answer, or None if there is
    none.

    Args:
        model: the model of the answer; None means any model.
    """
    aside: Aside | None = getattr(INSIDE.get(), "aside", None)
    if aside is None or not aside.is_waiting:
        return None
    return aside if model is None or aside.model is model else None


def run_judged(words: Vocabulary, attempt: Attempt, aside: Aside | None, *hook_args: Any) -> Any:
    """Run a `model_call`, and hold back reports of its answer if receivers may change or block the
    answer.

    Args:
        words: the vocabulary with the hook.
        attempt: the attempt. Its body calls the model.
        aside: holds the reports; None if the framework makes none.
        hook_args: the model, the messages, the options and the agent.
    """
    if aside is None or not is_held_back(words, hook_args[0], is_async=False):
        return words.run("model_call", attempt, *hook_args)
    attempt.body = aside.noting(attempt.body)
    with aside.waiting():
        answer = words.run("model_call", attempt, *hook_args)
    return aside.give_out(answer)


async def run_judged_async(
    words: Vocabulary, attempt: Attempt, aside: Aside | None, *hook_args: Any
) -> Any:
    """Like `run_judged`, but for an async request."""
    if aside is None or not is_held_back(words, hook_args[0], is_async=True):
        return await words.run_async("model_call", attempt, *hook_args)
    attempt.body = aside.noting_async(attempt.body)
    with aside.waiting():
        answer = await words.run_async("model_call", attempt, *hook_args)
    return aside.give_out(answer)
