"""The hookable methods for Agno's tool calls and for the input and output of its runs."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Final, NamedTuple

from hookbus import Bus, instrument

from .._own_hooks import View
from .._patches import Patches, carries
from .._vocabulary import TOOL_LABELS


class Sender(NamedTuple):
    """The sender of hookable methods.

    Attributes:
        owner: the sender: a tool, an agent or a team, or an object in its place.
        cls: the class that has the hookable methods. Attributes of `owner` with the same names are
            not used.
    """

    owner: Any
    cls: Any

    def call(self, hookable: str, *args: Any, **kwargs: Any) -> Any:
        """Call a hookable method of the sender."""
        return getattr(self.cls, hookable)(self.owner, *args, **kwargs)


class StandIn(View):
    """The sender for an object of another class that Agno accepts, such as a mock or an object with
    the right attributes.

    It has its own hookable methods, and forwards all other attribute access to the object.
    """


def sender_of(owner: Any, cls: type) -> Sender:
    """Return the sender for an owner. An owner that is not an instance of the class gets a
    `StandIn`."""
    # Use the type itself: a mock claims to be of any class.
    return Sender(owner, cls) if issubclass(type(owner), cls) else Sender(StandIn(owner), StandIn)


def kind_of(function: Any) -> str:
    """Return the kind of a tool. Agno does not record the kind, so the function derives it from the
    module that defines the tool's code."""
    entrypoint = inspect.unwrap(function.entrypoint)
    home = getattr(getattr(entrypoint, "func", entrypoint), "__module__", None)
    if home == "agno.utils.mcp":
        return "mcp"
    is_to_a_member = home == "agno.team._default_tools" and function.name.startswith("delegate_")
    return "agent" if is_to_a_member else "function"


def make_hookable(
    patches: Patches, bus: Bus, cls: Any, functions: tuple[Callable[..., Any], ...]
) -> None:
    """Add hookable methods to a class until the patches are restored."""
    for function in functions:
        name = function.__name__
        patches.replace(cls, name, function)
        hook = _HOOKS[function]
        # Receivers of `tool_call` may have a parameter for the tool's name, too.
        sender = "tool" if hook == "tool_call" else None
        labels = TOOL_LABELS if sender else ()
        patches.on_restore(instrument(cls, {name: hook}, bus=bus, sender=sender, labels=labels))


def tool_start(self: Any, call: Any) -> None:
    """Run the `pre_hook` of a tool, which is a receiver of this hook."""
    call.reach()


async def atool_start(self: Any, call: Any) -> None:
    """Run the `pre_hook` of a tool in an async call."""
    call.reach()


@carries("call")
def tool_call(
    tool: Any, name: str, arguments: dict[str, Any], call_id: str | None, kind: str, caller: Any,
    call: Any,
) -> Any:  # fmt: skip
    """Call a tool, inside its `tool_hooks`; only `arguments` can be changed."""
    return call.run(name, arguments)


@carries("call")
async def atool_call(
    tool: Any, name: str, arguments: dict[str, Any], call_id: str | None, kind: str, caller: Any,
    call: Any,
) -> Any:  # fmt: skip
    """Call a tool, inside its `tool_hooks`, from async code."""
    return await call.run_async(name, arguments)


@carries("call")
def stool_call(
    tool: Any, name: str, arguments: dict[str, Any], call_id: str | None, kind: str, caller: Any,
    call: Any,
) -> Generator[Any, Any, Any]:  # fmt: skip
    """Call a tool that streams."""
    return (yield from call.run(name, arguments))


@carries("call")
async def astool_call(
    tool: Any, name: str, arguments: dict[str, Any], call_id: str | None, kind: str, caller: Any,
    call: Any,
) -> AsyncGenerator[Any, None]:  # fmt: skip
    """Call a tool that streams, from async code."""
    items = await call.run_async(name, arguments)
    try:
        async for item in items:
            yield item
    finally:
        await items.aclose()


def tool_end(self: Any, call: Any) -> None:
    """Run the `post_hook` of a tool, which is a receiver of this hook."""
    call.reach()


async def atool_end(self: Any, call: Any) -> None:
    """Run the `post_hook` of a tool in an async call."""
    call.reach()


def run_input(
    self: Any, run_input: Any, session: Any, run_context: Any, user_id: Any, metadata: Any,
    call: Any,
) -> Any:  # fmt: skip
    """Store the input of a run, after the run's hooks have checked it."""
    yield from call.finish(run_input)


async def arun_input(
    self: Any, run_input: Any, session: Any, run_context: Any, user_id: Any, metadata: Any,
    call: Any,
) -> Any:  # fmt: skip
    """Store the input of an async run, after the run's hooks have checked it."""
    for event in call.finish(run_input):
        yield event


def run_output(
    self: Any, run_output: Any, session: Any, run_context: Any, user_id: Any, metadata: Any,
    call: Any,
) -> Any:  # fmt: skip
    """Store the output of a run, after the run's hooks have checked it."""
    yield from call.finish(run_output)


async def arun_output(
    self: Any, run_output: Any, session: Any, run_context: Any, user_id: Any, metadata: Any,
    call: Any,
) -> Any:  # fmt: skip
    """Store the output of an async run, after the run's hooks have checked it."""
    for event in call.finish(run_output):
        yield event


TOOLS: Final = (
    tool_start, atool_start, tool_call, atool_call, stool_call, astool_call, tool_end, atool_end,
)  # fmt: skip
RUNS: Final = (run_input, arun_input, run_output, arun_output)

_HOOKS: Final = {
    tool_start: "tool_start", atool_start: "tool_start", tool_end: "tool_end",
    atool_end: "tool_end", tool_call: "tool_call", atool_call: "tool_call", stool_call: "tool_call",
    astool_call: "tool_call", run_input: "run_input", arun_input: "run_input",
    run_output: "run_output", arun_output: "run_output",
}  # fmt: skip
"""The name of each method's hook."""
