"""The place of a guard under LangChain, as a fresh run of an agent finds it."""

import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

from hookbus import Block, Bus, adapters
from hookbus.events import Invoked

from .drawing import document, mono, text

TOOL: Final = "transfer"
FRAMEWORK: Final = ("langgraph.prebuilt", "langchain_core.tools")
WIDTH, INDENT, ROW, PAD = 760, 16, 22, 10
STYLE: Final = """
  .box { fill: none; stroke: #57606a } .hook { fill: none; stroke: #0969da; stroke-width: 2 }
  text.stop { fill: #cf222e } text.own { fill: #1a7f37; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .box { stroke: #6e7681 } .hook { stroke: #1f6feb } text.stop { fill: #ff7b72 }
    text.own { fill: #7ee787 }
  }
"""


class Facts(NamedTuple):
    """What one run of the agent shows.

    Attributes:
        outside: the framework's functions that call the hook, outermost first.
        inside: the framework's functions between the hook and the tool. The adapter replaces the
            first one.
        receivers: the phase, role and name of each receiver, in the order of their calls.
        runs: the amounts that the tool ran with.
        refusal: the message that the model reads for the blocked call.
    """

    outside: list[str]
    inside: list[str]
    receivers: list[tuple[str, str, str]]
    runs: list[int]
    refusal: str


def facts() -> Facts:
    """Run an agent that calls its tool with 20, which a guard allows, and with 500."""
    bus, stacks, runs, invoked = Bus(), list[list[tuple[str, str]]](), list[int](), list[Invoked]()

    def transfer(amount: int, to: str) -> str:
        """Transfer money."""
        stacks.append(list(_stack())[::-1])
        runs.append(amount)
        return f"transferred {amount} to {to}"

    _connect_receivers(bus)
    bus.events.connect(lambda bus, event: invoked.append(event), kinds=(Invoked,))
    uninstall = adapters.langchain.install(bus)
    try:
        refusal = _run_agent(transfer)
    finally:
        uninstall()
    outside, inside = _around_hook(stacks[0])
    first = [event for event in invoked if event.call_id == invoked[0].call_id]
    receivers = [(event.phase, event.role, event.receiver) for event in first]
    return Facts(outside, inside, receivers, runs, refusal)


def _run_agent(transfer: Callable[[int, str], str]) -> str:
    """Run an agent with a scripted model, and return the refusal that the model reads."""
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    requests = [
        AIMessage("", tool_calls=[{"name": TOOL, "args": {"amount": amount, "to": "ann"},
                                   "id": str(amount), "type": "tool_call"}])
        for amount in (20, 500)
    ]  # fmt: skip
    model = Scripted(messages=iter([*requests, AIMessage("done")]))
    messages = create_agent(model, [tool(TOOL)(transfer)]).invoke({"messages": ["pay"]})["messages"]
    return next(str(each.content) for each in messages if getattr(each, "status", "") == "error")


def _connect_receivers(bus: Bus) -> None:
    @bus.signal("pre_tool_call").connect_via(role="guard", name="small_amounts_only")
    def small_amounts_only(sender: Any, arguments: Any) -> Block | None:
        return Block("more than 100 needs a person") if arguments["amount"] > 100 else None

    @bus.signal("post_tool_call").connect_via(name="hide_names")
    def hide_names(sender: Any, result: str) -> str:
        return result.replace("ann", "<name>")

    @bus.signal("finally_tool_call").connect_via(role="observe", name="audit")
    def audit(sender: Any) -> None:
        pass


def _stack() -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each function that is running, innermost first."""
    frame = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        yield module, frame.f_code.co_qualname
        frame = frame.f_back  # type: ignore[assignment]


def _around_hook(stack: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Return the framework's functions before the hook, and those after it."""
    hook = max(i for i, (module, _) in enumerate(stack) if module.startswith("hookbus."))
    names = [
        (i, name) for i, (module, name) in enumerate(stack)
        if module.startswith(FRAMEWORK)
    ]  # fmt: skip
    return [name for i, name in names if i < hook], [name for i, name in names if i > hook]


def picture() -> str:
    """Return nested boxes: framework, hook, framework again, and the tool inside."""
    found = facts()
    before = [each for each in found.receivers if each[0] == "pre"]
    after = [each for each in found.receivers if each[0] != "pre"]
    boxes = [
        *(("box", f"{name}  (framework)") for name in found.outside[-2:]),
        ("hook", f"hook tool_call  (hookbus, in place of {found.inside[0]})"),
        *(("box", f"{name}  (framework, unchanged)") for name in found.inside),
    ]
    parts = [text(PAD, 24, "A tool call of an agent in LangChain, with a guard", "title")]
    tops, y = list[tuple[str, int, int]](), 40
    for depth, (kind, title) in enumerate(boxes):
        tops.append((kind, depth, y))
        parts.append(mono(PAD + depth * INDENT + 8, y + 16, title))
        y += ROW
        for receiver in before if kind == "hook" else ():
            parts.append(_receiver_line(depth, y, receiver))
            y += ROW
            if receiver[1] == "guard":
                sentence = "If it blocks, the tool does not run. The model reads:"
                for line in (sentence, found.refusal):
                    parts.append(text(PAD + depth * INDENT + 40, y + 15, line, "stop"))
                    y += ROW
    parts.append(mono(PAD + len(boxes) * INDENT + 8, y + 16, f"{TOOL}  (your tool)", "own"))
    y += ROW + 6
    for kind, depth, top in reversed(tops):
        for receiver in after if kind == "hook" else ():
            parts.append(_receiver_line(depth, y, receiver))
            y += ROW
        y += 6
        parts.append(_box(kind, depth, top, y))
    return document(WIDTH + 2 * PAD, y + PAD, _label(found), parts, STYLE)


def _receiver_line(depth: int, y: int, receiver: tuple[str, str, str]) -> str:
    phase, role, name = receiver
    return mono(PAD + depth * INDENT + 24, y + 16, f"{phase:<8} {role:<8} {name}")


def _box(kind: str, depth: int, top: int, bottom: int) -> str:
    x, width = PAD + depth * INDENT, WIDTH - 2 * depth * INDENT
    return (
        f'<rect class="{kind}" x="{x}" y="{top}" width="{width}" height="{bottom - top}" rx="6"/>'
    )


def _label(found: Facts) -> str:
    names = [*found.outside[-2:], "the hook tool_call", *found.inside, f"the tool {TOOL}"]
    steps = "; ".join(f"{outer} calls {inner}" for outer, inner in pairwise(names))
    receivers = ", ".join(" ".join(each) for each in found.receivers)
    return f"{steps}. Receivers of the hook, in order: {receivers}. Blocked: {found.refusal}"
