"""Reports of a framework to its own listeners about a model's answer, held until guards have
checked it.

Some frameworks report an answer, whole or part by part, from within the call of the model: before
guards have seen it. Where something may change or block the answer, the adapter keeps what would be
reported, and reports it once that is decided.
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
    """The reports of one answer. An adapter has a subclass of it, which says how they are made.

    Args:
        model: the model that is asked.

    Attributes:
        reports: what waits, in whatever form the subclass gives it.
        is_waiting: whether the answer is still to be judged.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.reports, self.is_waiting = model, list[Any](), False
        self._kept = Kept(object())

    def report(self, each: Any) -> None:
        """Report what the framework would have reported."""
        raise NotImplementedError

    def report_changed(self, each: Any, answer: Any) -> None:
        """Report instead what is left of it where another answer takes the place of the model's."""
        raise NotImplementedError

    def report_failed(self, each: Any, error: BaseException) -> None:
        """Report instead what is left of it where the answer goes nowhere."""
        raise NotImplementedError

    def noting(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """Return the body of a request, which forgets the reports of an earlier attempt."""

        def body(messages: Any, options: Any) -> Any:
            self._give_up(RuntimeError("the model was called again"))
            return self._note(ask(messages, options))

        return body

    def noting_async(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """The same of a body that is awaited."""

        async def body(messages: Any, options: Any) -> Any:
            self._give_up(RuntimeError("the model was called again"))
            return self._note(await ask(messages, options))

        return body

    def _note(self, answer: Any) -> Any:
        self._kept = Kept(answer)
        return answer

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Keep the reports of the answer that comes of the block, until it fails."""
        self.is_waiting = True
        try:
            yield
        except BaseException as error:
            self._give_up(error)
            raise
        finally:
            self.is_waiting = False

    def give_out(self, answer: Any) -> Any:
        """Make the reports of an answer that was judged, and return it."""
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
            except Exception as failure:  # the caller gets what the call ended with
                kind = type(failure).__name__
                _log.warning("listeners got no report that an answer of a model failed: %s", kind)

    def _taken(self) -> list[Any]:
        reports, self.reports = self.reports, []
        return reports


def aside_of(model: Any = None) -> Aside | None:
    """Return what keeps the reports of the answer that is being made right here, if they wait.

    Args:
        model: whose answer it is to be; None is any.
    """
    aside: Aside | None = getattr(INSIDE.get(), "aside", None)
    if aside is None or not aside.is_waiting:
        return None
    return aside if model is None or aside.model is model else None


def run_judged(words: Vocabulary, attempt: Attempt, aside: Aside | None, *told: Any) -> Any:
    """Make a `model_call`, and have reports of its answer wait where anything judges it.

    Args:
        words: which have the hook.
        attempt: whose body asks the model.
        aside: holds the reports; None if the framework makes none.
        told: the model, the messages, the options and the agent.
    """
    if aside is None or not is_held_back(words, told[0], is_async=False):
        return words.run("model_call", attempt, *told)
    attempt.body = aside.noting(attempt.body)
    with aside.waiting():
        answer = words.run("model_call", attempt, *told)
    return aside.give_out(answer)


async def run_judged_async(
    words: Vocabulary, attempt: Attempt, aside: Aside | None, *told: Any
) -> Any:
    """The same of an async request."""
    if aside is None or not is_held_back(words, told[0], is_async=True):
        return await words.run_async("model_call", attempt, *told)
    attempt.body = aside.noting_async(attempt.body)
    with aside.waiting():
        answer = await words.run_async("model_call", attempt, *told)
    return aside.give_out(answer)
