"""Wrong uses, each in a statement marked `# wrong`, and each found by both type checkers.

`test_wrong_uses.py` runs mypy strict and pyright on it. The code itself never runs.
"""

from collections.abc import Awaitable
from typing import Any

from hookbus import (
    Block,
    Bus,
    CallNext,
    Drop,
    HookContext,
    Replace,
    default_bus,
    hookable,
    hookspec,
    instrument,
    modes,
    receives,
    signal,
)
from hookbus.events import Blocked, Failed
from hookbus.plugins import PluginApi
from hookbus.testing import Recording


class Agent:
    @hookable("reply")
    async def reply(self, msg: str) -> str:
        return msg


agent = Agent()
pre = signal("pre_reply")


def watch(agent: Agent, msg: str) -> None:
    """Look."""


# -- options ---------------------------------------------------------------------------------------

pre.connect(watch, prioritty=10)  # wrong: a typo
pre.connect(watch, priority="high")  # wrong: a text
pre.connect(watch, role="gaurd")  # wrong: no such role
pre.connect(watch, on_error="ignore")  # wrong: no such policy
pre.connect(watch, timeout="2s")  # wrong: seconds are a number
pre.connect(watch, when={"msg": 3})  # wrong: a glob is a text
pre.connect(watch, when="msg")  # wrong: neither a predicate nor globs
pre.connect(watch, before=3)  # wrong: names are texts
pre.connect(watch, once="yes")  # wrong: True or False
pre.connect(watch, role="guard", shadow="no")  # wrong: True or False
pre.connect(watch, role="guard", locked=1)  # wrong: True or False
pre.connect(watch, role="observe", backgruond=True)  # wrong: a typo
pre.connect("watch")  # wrong: not callable
pre.connected_to(watch, tiemout=2.0)  # wrong: a typo
default_bus.events.connect(print, kinds="Failed")  # wrong: the class itself
default_bus.events.connect(print, kinds=(Failed, Replace))  # wrong: no event
default_bus.require_guard("reply", phase="finally")  # wrong: no guards there


@pre.connect_via(Agent, tiemout=2.0)  # wrong: a typo
def typo(agent: Agent, msg: str) -> None:
    """Look."""


class Plugin:
    @receives("pre_reply", pirority=3)  # wrong: a typo
    def typo(self, agent: Agent, msg: str) -> None:
        """Look."""

    @receives("pre_reply", role="guard")  # wrong: a guard gives None or Block
    def truth(self, agent: Agent, msg: str) -> bool:
        return False


def register(api: PluginApi) -> None:
    api.connect("pre_reply", watch, prioritty=10)  # wrong: a typo
    api.connect("pre_reply", allows, role="guard")  # wrong: a guard gives None or Block


@hookspec(modes.firstresult)
def which(message: str) -> str:
    raise NotImplementedError


which.connect(len, role="guard")  # wrong: a question has no roles
which.connected_to(len, kinds=Failed)  # wrong: it tells no events


# -- guards: None or Block, nothing else -----------------------------------------------------------


def allows(agent: Agent, msg: str) -> bool:
    return False


async def allows_later(agent: Agent, msg: str) -> bool:
    return False


def patches(agent: Agent, msg: str) -> dict[str, str] | None:
    return {"msg": ""}


def replaces(agent: Agent, msg: str) -> Block | Replace | None:
    return Replace("")


def drops(agent: Agent, item: str) -> Drop:
    return Drop()


def gives_the_class(agent: Agent, msg: str) -> type[Block] | None:
    return Block


class Allowing:
    def __call__(self, agent: Agent) -> bool:
        return False


pre.connect(allows, role="guard")  # wrong
pre.connect(allows_later, sender=Agent, role="guard")  # wrong
pre.connect(patches, role="guard")  # wrong
pre.connect(replaces, role="guard")  # wrong
signal("item_reply").connect(drops, role="guard")  # wrong
pre.connect(gives_the_class, role="guard")  # wrong
pre.connect(Allowing(), role="guard", priority=3)  # wrong
pre.connect(lambda agent, msg: False, role="guard")  # wrong
pre.connect(lambda agent, msg: "secret" in msg, sender=Agent, role="guard")  # wrong
pre.connected_to(allows, Agent, role="guard")  # wrong


@pre.connect_via(Agent, role="guard")  # wrong
def is_allowed(agent: Agent, msg: str) -> bool:
    return False


@pre.connect_via(role="guard", timeout=2.0)  # wrong
async def is_allowed_later(agent: Agent, msg: str) -> bool:
    return False


@pre.connect_via(role="guard", tiemout=2.0)  # wrong: a typo
def checked(agent: Agent, msg: str) -> Block | None:
    return Block()  # wrong: why?


# -- what receivers are given, and verdicts --------------------------------------------------------


async def around(
    agent: Agent, ctx: HookContext, call_next: CallNext[Awaitable[str]], plain: CallNext[str]
) -> None:
    call_next("hello")  # wrong: a patch goes by name
    size: int = await call_next(msg="hello")  # wrong: the method gives a str
    await plain()  # wrong: there is nothing to wait for
    ctx.kwargs[3] = size  # wrong: arguments have names
    ctx.result = "changed"  # wrong: return it
    ctx.kwargs.msg = "hello"  # wrong: a mapping
    Block("no", "result")  # wrong: result= goes by name


def recorded(hook_recorder: Recording) -> None:
    hook_recorder.of(Failed)[0].reason  # wrong: a Failed has no reason
    first: Failed = hook_recorder.of(Blocked)[0]  # wrong: a Blocked
    hook_recorder.of("Failed")  # wrong: the class itself
    hook_recorder.of(Replace)  # wrong: no event
    print(first)


# -- the rest of the front door --------------------------------------------------------------------

agent.reply(3)  # wrong: the method takes a str
Bus(timeout="2s")  # wrong: seconds are a number
default_bus.register(Plugin())()(1)  # wrong: undone is undone
instrument(Agent, 3)  # wrong: methods are named
anything: Any = pre.connect(watch).disconnect()  # wrong: connect gives the receiver, no handle
