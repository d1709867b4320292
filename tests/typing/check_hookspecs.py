"""What type checkers must see: a question has the result type of its mode.

Checked by mypy strict and pyright, never run.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeVar, assert_type

from hookbus import Bus, Connection, HookSignal, default_bus, explain, hookspec, modes

T = TypeVar("T")


@hookspec(modes.firstresult)
def resolve_session(message: str, limit: int = 10) -> str:
    raise NotImplementedError


def by_name(message: str) -> str:
    return message


@hookspec(modes.with_default(modes.firstresult, by_name), bus=default_bus)
def resolve_or_name(message: str) -> str | None:
    """Which session does this message belong to?"""


async def by_name_later(message: str) -> str:
    return message


@hookspec(modes.with_default(modes.firstresult, by_name_later))
async def resolve_later(message: str) -> str | None:
    """Which session does this message belong to?"""


@hookspec(modes.fold("text"), historic=True)
def polish(text: str) -> str:
    raise NotImplementedError


@hookspec(modes.unique(len), name="sections")
def system_prompt(session: str) -> str:
    raise NotImplementedError


@hookspec(modes.void)
def told(event: bytes) -> None:
    """Something happened."""


@hookspec(
    modes.merge(
        tools="intersect", env=modes.rules.update, text=lambda earlier, later: earlier + later
    )
)
def build(session: str) -> dict[str, object]:
    raise NotImplementedError


@hookspec(modes.merge("last"))
async def state(session: str) -> dict[str, object]:
    raise NotImplementedError


@hookspec(modes.firstresult)
async def run_model(prompt: str) -> int:
    raise NotImplementedError


@hookspec(modes.broadcast)
async def channels() -> bytes:
    raise NotImplementedError


@hookspec(modes.void)
async def ended() -> None:
    """It is over."""


assert_type(resolve_session("a"), str | None)
assert_type(resolve_session(message="a", limit=3), str | None)
assert_type(resolve_or_name("a"), str)
assert_type(polish("a"), Any)
assert_type(resolve_session.retire(), None)
assert_type(system_prompt("s"), list[str])
assert_type(told(b""), None)
assert_type(build("s"), dict[str, Any])
assert_type(resolve_session.ask("a"), modes.Answers[str, str | None])
assert_type(resolve_session.ask("a").answers[0].value, str | None)
assert_type(resolve_session.ask("a").failures[0].error, BaseException | None)
assert_type(system_prompt.ask("s").result, list[str])
assert_type(system_prompt.replay(), tuple[modes.Answers[str, list[str]], ...])
resolve_session(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resolve_session.ask(mesage="a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def asked() -> None:
    assert_type(await state("s"), dict[str, Any])
    assert_type(await resolve_later("s"), str)
    assert_type(await run_model("p"), int | None)
    assert_type(await run_model.ask("p"), modes.Answers[int, int | None])
    assert_type(await channels(), list[bytes])
    assert_type(await ended(), None)
    assert_type(run_model.scope(), AbstractAsyncContextManager[None])


# -- receivers: decorators give back the type they got ---------------------------------------------


@resolve_session.connect_via(priority=5, timeout=2.0, on_error="raise")
def by_chat(message: str) -> str | None:
    return message


@run_model.connect
async def model(prompt: str) -> int:
    return len(prompt)


assert_type(by_chat("a"), str | None)
assert_type(resolve_session.connect(by_chat, when={"message": "a*"})("a"), str | None)
assert_type(resolve_session.connected_to(by_chat), Connection)
assert_type(resolve_session.signal, HookSignal)
assert_type(resolve_session.scope(), AbstractContextManager[None])
assert_type(resolve_session.muted(), AbstractContextManager[None])
assert_type(explain(resolve_session)[0].receiver, str)


# -- modes of one's own ----------------------------------------------------------------------------


def longest(answers: list[str]) -> int:
    return max(map(len, answers))


def last_two(receivers: Sequence[modes.Receiver[T]]) -> modes.Steps[T, list[T]]:
    answers = yield receivers[-2:]
    return [answer.value for answer in answers if answer.value is not None]


def who(receivers: Sequence[modes.Receiver[object]]) -> modes.Steps[object, str]:
    for receiver in receivers:
        [answer] = yield [receiver]
        if isinstance(answer.value, int):
            return answer.receiver
        yield modes.Reject(answer, "answer with a number")
    return "nobody"


def with_arguments(
    receivers: Sequence[modes.Receiver[object]], arguments: Mapping[str, Any]
) -> modes.Steps[object, float]:
    yield receivers, {"message": arguments["message"].strip()}
    return 1.0


async def until_found(receivers: Sequence[modes.Receiver[str]]) -> modes.AsyncSteps[str]:
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value is not None:
            yield modes.Result(answer.value)


@hookspec(with_arguments)
def rated(message: str) -> str:
    raise NotImplementedError


@hookspec(until_found)
async def found(message: str) -> str:
    raise NotImplementedError


@hookspec(longest)
def length(message: str) -> str:
    raise NotImplementedError


@hookspec(last_two)
def two(message: str) -> bytes:
    raise NotImplementedError


@hookspec(who, bus=Bus())
async def name_of(message: str) -> int:
    raise NotImplementedError


@hookspec(any)
def is_any(message: str) -> bool:
    raise NotImplementedError


assert_type(length("a"), int)
assert_type(rated("a"), float)
assert_type(two("a"), list[bytes])
assert_type(is_any("a"), bool)


async def asked_of_ones_own() -> None:
    assert_type(await name_of("a"), str)
    assert_type(await found("a"), Any)


merge: Callable[..., object] = modes.merge
