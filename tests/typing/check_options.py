"""What type checkers must accept: options, guards of all kinds, arounds, recordings.

Checked by mypy strict and pyright, never run.
"""

import functools
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    MutableMapping,
)
from typing import Any, Literal, assert_type
from unittest.mock import Mock

from hookbus import Block, Bus, CallNext, Connection, HookContext, hookspec, modes, receives, signal
from hookbus.events import Blocked, Event, Failed, Finished
from hookbus.plugins import PluginApi
from hookbus.testing import Recording

pre = signal("pre_reply")


class Agent:
    def check(self, msg: str) -> Block | None:
        return None


# -- guards: what gives None, Block, an awaitable of them, or nobody knows what --------------------


def guard(agent: Agent, msg: str) -> Block | None:
    return Block("no", code="secret") if msg else None


def never(agent: Agent) -> None:
    """Look, and let it pass."""


def always(agent: Agent) -> Block:
    return Block("no")


def unknown(agent: Agent) -> Any:
    return None


def bare(agent, msg):  # type: ignore[no-untyped-def]
    return Block("no") if msg else None


def as_blinker_does(sender: object, **kwargs: Any) -> None:
    """Take what there is."""


async def later(agent: Agent, msg: str) -> Block | None:
    return None


async def always_later(agent: Agent) -> Block:
    return Block("no")


def soon(agent: Agent, msg: str) -> Awaitable[Block | None]:
    return later(agent, msg)


class Checks:
    def __call__(self, agent: Agent, msg: str) -> Block | None:
        return None

    async def later(self, agent: Agent) -> None:
        """Look."""


checks = Checks()
assert_type(pre.connect(guard, role="guard")(Agent(), ""), Block | None)
assert_type(pre.connect(checks, role="guard"), Checks)
pre.connect(never, role="guard")
pre.connect(always, Agent, role="guard", priority=10, timeout=2)
pre.connect(unknown, role="guard", when={"msg": "a*"})
pre.connect(bare, role="guard", when=lambda msg: msg == "a")
pre.connect(as_blinker_does, role="guard", before="late", after=("early", "first"))
pre.connect(later, Agent, None, role="guard", name="later")
pre.connect(soon, role="guard", on_error="block")
pre.connect(checks.later, role="guard", shadow=True)
pre.connect(checks.later, role="guard", locked=True)
pre.connect(never, role="observe", background=True)
pre.connect(Agent.check, role="guard")
pre.connect(functools.partial(guard, msg=""), role="guard")
pre.connect(Mock(), role="guard")
pre.connect(lambda agent: None, role="guard")
pre.connect(lambda agent, msg: Block("no") if msg else None, role="guard")
pre.connect(lambda agent, msg: later(agent, msg), role="guard")
pre.connect(lambda agent, **kwargs: Block("no"), sender=Agent(), role="guard")
assert_type(pre.connected_to(guard, Agent, role="guard", weak=False), Connection)
assert_type(pre.connected_to(lambda agent, msg: None, role="guard", timeout=None), Connection)


@pre.connect_via(Agent, role="guard", timeout=2.0)
async def decorated(agent: Agent, msg: str) -> Block | None:
    return None


@pre.connect_via(role="guard")
def decorated_bare(agent, msg):  # type: ignore[no-untyped-def]
    return None if msg else Block("no")


async def awaited() -> None:
    assert_type(await decorated(Agent(), ""), Block | None)
    assert_type(await pre.connect(always_later, Agent, role="guard")(Agent()), Block)


class Plugin:
    @receives("pre_reply", role="guard", sender=Agent, name="check")
    def check(self, agent: Agent, msg: str) -> Block | None:
        return None

    @receives("post_reply", role="observe", weak=True)
    @receives("post_think")
    def look(self, agent: Agent) -> bool:
        return True

    @receives("pre_reply", role="guard")
    @classmethod
    def of_class(cls, agent: Agent) -> None:
        """Look."""

    @receives("pre_reply", role="guard")
    @staticmethod
    def of_nobody(agent: Agent) -> None:
        """Look."""


assert_type(Plugin().check(Agent(), ""), Block | None)
assert_type(Plugin().look(Agent()), bool)


# -- whoever is no guard may give anything ---------------------------------------------------------


def anything(agent: Agent) -> bool:
    return True


def with_options_of_others(options: dict[str, Any], role: Literal["modify", "observe"]) -> None:
    assert_type(pre.connect(anything, **options)(Agent()), bool)
    pre.connect(anything, role=role)
    pre.connect(guard, role=role if options else "guard", **options)
    pre.connected_to(anything, **options)

    @pre.connect_via(Agent, **options)
    def decorated(agent: Agent) -> bool:
        return True

    assert_type(decorated(Agent()), bool)


def register(api: PluginApi) -> None:
    assert_type(api.connect("pre_reply", guard, Agent, role="guard")(Agent(), ""), Block | None)
    assert_type(api.connect("post_reply", anything, weak=True, priority=1)(Agent()), bool)
    api.connect("pre_reply", anything, **api.settings["options"])


@hookspec(modes.firstresult)
def which(message: str) -> str:
    raise NotImplementedError


which.connect(str.upper, weak=None, priority=1, on_error="raise", when={"message": "a*"}, once=True)


# -- arounds, arguments, recordings ----------------------------------------------------------------


def around(agent: Agent, ctx: HookContext, call_next: CallNext[str]) -> str:
    ctx.kwargs["msg"] = "changed"
    ctx.kwargs.update(msg="changed")
    assert_type(ctx.kwargs, MutableMapping[str, Any])
    assert_type(call_next(msg="b"), str)
    return call_next()


async def around_later(agent: Agent, call_next: CallNext[Awaitable[str]]) -> str:
    return await call_next(msg="b") or await call_next()


def around_stream(agent: Agent, call_next: CallNext[Iterator[str]]) -> Iterator[str]:
    yield from call_next()


async def around_stream_later(
    agent: Agent, call_next: CallNext[AsyncIterator[str]]
) -> AsyncIterator[str]:
    async for item in call_next():
        yield item


def like_the_method(call_next: CallNext[Generator[int, None, str]]) -> Generator[int, None, str]:
    return (yield from call_next())


def is_callable(call_next: CallNext[AsyncGenerator[int, None]]) -> Callable[..., object]:
    return call_next


signal("around_reply").connect(around)
signal("around_think").connect(around_later)
signal("around_stream").connect(around_stream, Agent)
signal("around_stream").connect(around_stream_later, Agent)


def recorded(hook_recorder: Recording) -> None:
    assert_type(hook_recorder.of(Failed), list[Failed])
    assert_type(hook_recorder.of(Blocked)[0].reason, str)
    assert_type([*hook_recorder.of(Failed, Finished)][0].hook, str)
    events: list[Event] = hook_recorder.of(Event)
    print(events)


def listen(bus: Bus, event: Event) -> None:
    """Hear."""


Bus().events.connect(listen, kinds=Failed)
Bus().events.connect(listen, kinds=(Blocked, Failed), priority=1)
Bus().events.connected_to(listen, kinds=[Blocked], name="mine")
