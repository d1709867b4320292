"""What type checkers must see: decorators return the type of their argument.

Checked by mypy strict and pyright, never run.
"""

from collections.abc import AsyncGenerator, Callable, Generator
from typing import Literal, assert_type

from hookbus import (
    ANY,
    Block,
    Bus,
    Connection,
    HookContext,
    HookSignal,
    Replace,
    default_bus,
    explain,
    hookable,
    instrument,
    load_plugins,
    receives,
    report,
    signal,
)  # fmt: skip
from hookbus.events import Event, Failed
from hookbus.plugins import Diagnostic, PluginApi, Plugins
from hookbus.testing import Recording, record


class Agent:
    @hookable
    def bare(self, msg: str) -> int:
        return len(msg)

    @hookable("reply")
    async def reply(self, msg: str, *, loud: bool = False) -> str:
        return msg

    @hookable()
    def tokens(self, n: int) -> Generator[int, None, str]:
        yield n
        return "done"

    @hookable("stream", bus=default_bus)
    async def stream(self, n: int) -> AsyncGenerator[int, None]:
        yield n

    @classmethod
    @hookable("make")
    def make(cls, name: str) -> "Agent":
        return cls()

    @hookable("build")
    @classmethod
    def build(cls, name: str) -> "Agent":
        return cls()

    @hookable("helper")
    @staticmethod
    def helper(x: int) -> float:
        return float(x)


@hookable
def function(x: int, y: str = "") -> bytes:
    return b""


agent = Agent()
assert_type(agent.bare("a"), int)
assert_type(agent.tokens(1), Generator[int, None, str])
assert_type(agent.stream(1), AsyncGenerator[int, None])
assert_type(Agent.make("a"), Agent)
assert_type(Agent.build("a"), Agent)
assert_type(Agent.helper(1), float)
assert_type(function(1, y="b"), bytes)


def guard(agent: Agent, msg: str, ctx: HookContext) -> Block | None:
    return Block("no", result=3) if msg else None


def replace(agent: Agent, result: str) -> Replace:
    return Replace(result)


assert_type(signal("pre_reply"), HookSignal)
assert_type(signal("post_reply").connected_to(replace, sender=agent), Connection)


@signal("pre_reply").connect_via(Agent, priority=10)
async def redact(agent: Agent, msg: str) -> dict[str, str]:
    return {"msg": msg}


async def awaited(ctx: HookContext) -> None:
    assert_type(await agent.reply("a", loud=True), str)
    assert_type(await redact(agent, "a"), dict[str, str])
    connected = signal("pre_reply").connect(guard, sender=Agent, role="guard", timeout=2.0)
    assert_type(connected(agent, "a", ctx), Block | None)


def listen(bus: Bus, event: Event) -> None:
    if isinstance(event, Failed):
        assert_type(event.exception, BaseException)


default_bus.events.connect(listen)


class Plugin:
    @receives("pre_reply", role="guard")
    def check(self, agent: Agent, msg: str) -> Block | None:
        return None


assert_type(Plugin().check(agent, "a"), Block | None)
assert_type(default_bus.register(Plugin()), Callable[[], None])
assert_type(
    instrument(Agent, "bare", {"helper": "help"}, bus=Bus(timeout=1.0), subclasses=True),
    Callable[[], None],
)
assert_type(explain(agent.reply)[0].position, int)
assert_type(str(report()), str)
with load_plugins(
    Bus(), user="nowhere", installed=False, overrides={"a": {"timeout": 1.0}}
) as plugins:
    assert_type(plugins, Plugins)
    assert_type(plugins.rows()[0].status, Literal["loaded", "disabled", "refused", "unloaded"])
    assert_type(plugins.diagnostics[0], Diagnostic)


def register(api: PluginApi) -> None:
    assert_type(
        api.connect("pre_reply", guard, role="guard")(agent, "a", api.settings["ctx"]), Block | None
    )


with record() as recording:
    assert_type(recording, Recording)
default_bus.signal("pre_reply").connect(guard, sender=ANY)
