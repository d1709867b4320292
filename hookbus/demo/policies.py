"""Policies over an agent's tool calls, as ordinary hookbus receivers: the part of the demo to copy.

Each policy is an object whose methods are receivers of one hook, `run_function`, AgentDojo's single
door to every tool. It knows one task and is plugged in while that task runs: `unplug =
bus.plug(AllowList(granted))`.

A policy cannot tell an injected instruction from a wish of the user, and does not try to. It only
says which calls the user's own words account for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
from pydantic import BaseModel

from hookbus import Block, receives

from .sanitise import without_instructions

DESTINATIONS: Final = frozenset(
    {
        # people
        "recipient", "recipients", "cc", "bcc", "participants", "email", "user_email",
        # places and things
        "user", "channel", "url", "file_path", "file_id", "email_id", "event_id",
    }
)  # fmt: skip
"""The arguments that say where a call goes or what it touches, by the names AgentDojo's tools give
them."""


def refusal(reason: str, raise_on_error: bool) -> Block:
    """Return the verdict that refuses a tool call in the way AgentDojo's loop expects it.

    The loop reads `(result, error)` and shows the error to the model. A call nested in another
    call's arguments asks for an exception instead, because its empty result would be passed on as
    if the tool had answered.
    """
    return Block(reason) if raise_on_error else Block(reason, result=("", f"hookbus: {reason}"))


@attrs.frozen(eq=False)
class AllowList:
    """Refuse every tool the user did not grant for this task.

    Attributes:
        granted: the names of the tools.
    """

    granted: frozenset[str]

    @receives("pre_run_function", role="guard")
    def only_granted_tools(
        self, runtime: object, function: str, raise_on_error: bool
    ) -> Block | None:
        """Block a call of any other tool."""
        if function in self.granted:
            return None
        return refusal(f"{function} was not granted for this task", raise_on_error)


@attrs.define(eq=False)
class Provenance:
    """Refuse a destination that neither the user nor a read the user named has mentioned.

    The rule: every destination stands, word for word, in the user's prompt or in the result of a
    read that the user named, which is a call with at least one text among its arguments, all of
    whose texts stand in the prompt.

    So `read_file("bill.txt")` counts if the prompt says bill.txt, and listing all transactions
    never does. What an attacker wrote into bill.txt passes as well: the user pointed at it.

    Attributes:
        prompt: the user's words.
    """

    prompt: str
    _trusted: list[str] = attrs.field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        self._trusted.append(_fold(self.prompt))

    @receives("pre_run_function", role="guard")
    def only_known_destinations(
        self, runtime: object, kwargs: Mapping[str, Any], raise_on_error: bool
    ) -> Block | None:
        """Block a call that goes to, or touches, anything of unknown origin."""
        for name, value in kwargs.items():
            for each in _each(value) if name in DESTINATIONS else ():
                if not isinstance(each, str):
                    # A nested call, say: nobody knows yet what it will answer.
                    return refusal(
                        f"{name} is not a text, so its origin cannot be told", raise_on_error
                    )
                if not any(stands_in(each, text) for text in self._trusted):
                    reason = "comes neither from the user nor from a read the user named"
                    return refusal(f"{name} {each!r} {reason}", raise_on_error)
        return None

    @receives("post_run_function", role="observe")
    def remember_named_reads(
        self, runtime: object, kwargs: Mapping[str, Any], result: tuple[Any, str | None]
    ) -> None:
        """Trust what a read the user named has answered."""
        if self._was_named(kwargs):
            self._trusted.extend(_fold(text) for text in texts_of(result[0]))

    def _was_named(self, kwargs: Mapping[str, Any]) -> bool:
        words = [
            value
            for each in kwargs.values()
            for value in _each(each)
            if not isinstance(value, int | float)
        ]
        return bool(words) and all(
            isinstance(word, str) and stands_in(word, self._trusted[0]) for word in words
        )


@attrs.frozen(eq=False)
class Sanitiser:
    """Take instructions out of tool results, by their form, before the agent reads them.

    It fails closed: a result that could not be cleaned is withheld.
    """

    @receives("post_run_function", on_error="block")
    def clean_result(
        self, runtime: object, result: tuple[Any, str | None]
    ) -> tuple[Any, str | None] | None:
        """Replace the result, and the error text, by a cleaned copy where there was something to
        take out."""
        answer, error = result
        cleaned = without_instructions(answer), without_instructions(error)
        return None if cleaned[0] is answer and cleaned[1] is error else cleaned


@attrs.frozen
class Task:
    """What is known about a task when the user hands it over.

    Attributes:
        prompt: the user's words.
        granted: the tools the user grants for it.
    """

    prompt: str
    granted: frozenset[str]


@attrs.frozen
class Policy:
    """A row of the demo.

    Attributes:
        name: what `--policy` calls it.
        label: what the table calls it.
        says: its rule in one sentence.
        receivers: makes the objects to plug in for one task.
    """

    name: str
    label: str
    says: str
    receivers: Callable[[Task], Sequence[object]]


POLICIES: Final = (
    Policy(
        "allow-list",
        "allow-list (upper bound)",
        "only the tools the user granted for the task; here those its ground truth uses, "
        "which no user could know so exactly",
        lambda task: [AllowList(task.granted)],
    ),
    Policy(
        "provenance",
        "provenance",
        "a destination stands in the prompt, or in the result of a read whose text arguments, "
        "one at least, all stand there",
        lambda task: [Provenance(task.prompt)],
    ),
    Policy(
        "both",
        "both (upper bound)",
        "the two together",
        lambda task: [AllowList(task.granted), Provenance(task.prompt)],
    ),
    Policy(
        "sanitiser",
        "sanitiser",
        "tool results lose what has the form of an instruction, such as a tagged block or "
        "a fake chat turn; plain prose stays",
        lambda task: [Sanitiser()],
    ),
)


def stands_in(word: str, text: str) -> bool:
    """Return whether a word, address or name stands in a folded text as a whole, not as a part of a
    longer one."""
    return (
        re.search(rf"(?<![\w@.+-]){re.escape(_fold(word))}(?![\w@+/-])(?!\.\w)", text) is not None
    )


def texts_of(value: object) -> Iterator[str]:
    """Yield every text inside a tool result."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        yield from texts_of([getattr(value, name) for name in type(value).model_fields])
    elif isinstance(value, Mapping):
        yield from texts_of([*value.keys(), *value.values()])
    elif isinstance(value, Iterable):
        for each in value:
            yield from texts_of(each)


def _each(value: object) -> Iterator[object]:
    values = value if isinstance(value, list | tuple) else (value,)
    return (each for each in values if each not in (None, ""))


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
