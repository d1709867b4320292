"""Makes hookbus calls from the events of agents. Two events of an agent form one call of a tool."""

from __future__ import annotations

import asyncio
import copy
import itertools
import logging
from collections.abc import Hashable
from typing import Any, Final

import attrs

from .. import Bus, HookBlocked, explain
from ..adapters import claude_agent
from ..adapters._arguments import text_of
from ..adapters._halves import Go, Halves, Instead
from ..adapters._patches import Patches
from ..adapters._tools import Gate, Refusal, Results, ToolCall
from ..adapters._vocabulary import Attempt, refusal
from ._agents import AGENTS, Prompter, Tool, ToolFailed, kind_of
from ._approver import HAND_OVER, HandOver
from ._codex import CLOSED
from ._events import Event, comparable
from ._sessions import OpenCall, Sessions

_log = logging.getLogger("hookbus")


@attrs.frozen
class Denied:
    """A call that must not run, or whose result must be withheld. The text states the reason."""

    text: str


@attrs.frozen
class HandedOn:
    """A call that the agent's own user must approve."""

    question: str


@attrs.frozen
class Result:
    """The result of a call.

    Attributes:
        raw: the tool's result, as receivers saw it.
        value: the value for the model, which is the same object if no receiver changed the result.
    """

    raw: Any
    value: Any


class UnknownCall(Exception):
    """No open call matches the event."""


_PLACES_OF_RESULTS: Final = {"gemini": "llmContent", "copilot": "textResultForLlm"}
"""The key in a result under which agents store the text for the model."""


def _show_result(agent: str, raw: Any) -> Any:
    if agent == "claude":
        return claude_agent._shown(raw)
    if agent == "gemini" and isinstance(raw, dict) and raw.get("error") is not None:
        return _show_error_of_gemini(raw)
    place = _PLACES_OF_RESULTS.get(agent)
    return raw[place] if place is not None and isinstance(raw, dict) and place in raw else raw


def _show_error_of_gemini(raw: dict[str, Any]) -> str:
    """Return the text of a failed tool, with the message of its error. Gemini CLI passes only this
    message to the model.
    """
    error = raw["error"]
    message = error.get("message") if isinstance(error, dict) else error
    found = [text_of(each) for each in (raw.get("llmContent"), message) if each is not None]
    return "\n".join(dict.fromkeys(found))


def _gate_of(agent: str, bus: Bus) -> Gate:
    def shown(raw: Any) -> Any:
        return _show_result(agent, raw)

    def refused(refused: Refusal) -> Denied:
        return Denied(refused.text)

    results = Results(shown=shown, refused=refused)
    patches = Patches.without_package("hookbus.gate")
    return Gate(patches, bus, results, words=("tool_call", "agent_run"))


class Calls:
    """The calls of all sessions.

    Args:
        bus: the bus with the signals.

    Attributes:
        sessions: the sessions.
    """

    def __init__(self, bus: Bus) -> None:
        self.sessions, self._numbers = Sessions(), itertools.count()
        self._gates = {name: _gate_of(name, bus) for name in AGENTS}

    def hookables(self) -> list[tuple[Any, Any]]:
        """Return the hookable function of each common hook, with a sender."""
        found = list[tuple[Any, Any]]()
        for name, agent in AGENTS.items():
            words = self._gates[name].vocabulary
            found.append((words.hookable("tool_call", is_async=True), agent.sender("")))
            found.append((words.hookable("agent_run", is_async=True), Prompter(name)))
        return found

    async def prompt(self, event: Event) -> Denied | None:
        """Run the hooks of a prompt. Return a `Denied` if the prompt is refused, or None."""
        given, agent, went = event.given["prompt"], event.agent.name, list[Any]()
        vocabulary = self._gates[agent].vocabulary

        async def body(prompt: Any) -> None:
            went.append(prompt)

        try:
            await vocabulary.run_async("agent_run", Attempt(body), Prompter(agent), given)
        except HookBlocked as blocked:
            return Denied(refusal(blocked))
        if went != [given]:
            return Denied(f"a receiver changed the prompt, and {agent} does not accept that")
        return None

    async def before(self, event: Event, *, may_hand_on: bool) -> Go | HandedOn | Denied:
        """Run the first half of a call.

        Args:
            event: the event before the tool.
            may_hand_on: whether the agent may ask its user. Calls with an `around` receiver are
                never handed on, because the receiver would run only after the tool.
        """
        session, given = self.sessions.get(event), event.given
        whose = given.get("agent_id")
        if whose not in session.halves:
            session.halves[whose] = Halves(self._gates[event.agent.name])
        halves, call = session.halves[whose], _call_of(event)
        key: Hashable = (whose, call.call_id) if event.agent.has_ids else next(self._numbers)
        opened = OpenCall(halves, key, call.name, event.sent, event.sent)
        if may_hand_on and not self._has_around(event.agent.name, call.tool):
            opened.hand_over = HandOver.of(copy.deepcopy(given["tool_input"]))
        HAND_OVER.set(opened.hand_over)
        begun = await _until_asked(halves.begin(key, call), opened)
        if isinstance(begun, Denied):
            return begun
        if isinstance(begun, Go):
            opened.became, opened.hand_over = comparable(begun.arguments), None
        session.open[key] = opened
        return begun

    def _has_around(self, agent: str, tool: Tool) -> bool:
        hookable = self._gates[agent].vocabulary.hookable("tool_call", is_async=True)
        return any(row.phase == "around" for row in explain(hookable, sender=tool))

    async def after(self, event: Event) -> Result | Denied:
        """Run the second half of a call.

        Raises:
            UnknownCall: if no open call matches the event.
            HookError: if the call was ended in the meantime.
        """
        opened = self.sessions.take_call(event)
        if opened is None:
            raise UnknownCall
        if not _is_as_judged(opened, event):
            return await _withhold(opened, event)
        denied = await _resume(opened)
        if denied is not None:
            return denied
        if event.kind == "failed":
            return await _fail(opened, ToolFailed(event.given["error"]))
        raw = event.given["tool_response"]
        shown = _show_result(event.agent.name, raw)
        value = await opened.halves.end(opened.key, raw)
        if value is raw:
            return Result(shown, shown)
        return value if isinstance(value, Denied) else Result(shown, value)


def _is_as_judged(opened: OpenCall, event: Event) -> bool:
    """Return whether a tool ran with the arguments that guards checked or receivers returned."""
    judged, ran = (opened.sent, opened.became), event.given["tool_input"]
    command = ran.get("command")
    if event.sent in judged:
        return True
    is_closed = isinstance(command, str) and command.startswith(CLOSED)
    if event.agent.name != "codex" or not is_closed:
        return False
    return comparable({**ran, "command": command.removeprefix(CLOSED)}) in judged


async def _withhold(opened: OpenCall, event: Event) -> Denied:
    """End a call whose tool ran with other arguments."""
    why = "it ran with arguments other than those that were checked"
    _log.warning("the result of %s was withheld: %s", event.tool, why)
    if opened.hand_over is not None and opened.begin is not None:
        opened.begin.cancel()
        await asyncio.wait({opened.begin})
    else:
        await _fail(opened, RuntimeError(why))
    return Denied(f"Error: the result of {event.tool} was withheld: {why}")


def _call_of(event: Event) -> ToolCall:
    tool, arguments = event.agent.sender(event.tool), copy.deepcopy(event.given["tool_input"])
    call_id = event.given["tool_use_id"] if event.agent.has_ids else None
    caller = event.given.get("agent_type")
    return ToolCall(tool.name, arguments, call_id, kind_of(tool), tool, caller)


async def _fail(opened: OpenCall, error: RuntimeError) -> Result | Denied:
    try:
        value = await opened.halves.fail(opened.key, error)
    except RuntimeError as raised:
        if raised is not error:
            raise
        return Result(error, error)
    return value if isinstance(value, Denied) else Result(error, value)


async def _until_asked(beginning: Any, opened: OpenCall) -> Go | Denied | HandedOn:
    """Run the first half of a call until its tool may run, or until the agent must ask its user."""
    begin = opened.begin = asyncio.ensure_future(beginning)
    hand_over = opened.hand_over
    waited: set[asyncio.Future[Any]] = {begin} | ({hand_over.question} if hand_over else set())
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        begin.cancel()
        await asyncio.wait({begin})
        raise
    if hand_over is not None and not begin.done():
        return HandedOn(hand_over.question.result())
    return _check_begun(begin.result())


async def _resume(opened: OpenCall) -> Denied | None:
    """Continue a call whose tool has run because the agent's user approved it."""
    if opened.hand_over is None or opened.begin is None:
        return None
    opened.hand_over.result.set_result(None)
    begun = _check_begun(await opened.begin)
    if isinstance(begun, Denied):
        return begun
    if comparable(begun.arguments) != opened.sent:
        return Denied("a receiver changed its arguments after the agent's user was asked")
    return None


def _check_begun(begun: Go | Instead) -> Go | Denied:
    """Return the outcome of the first half, or a `Denied` if a receiver answered in place of the
    tool."""
    if isinstance(begun, Go):
        return begun
    value = begun.value
    if isinstance(value, Denied):
        return value
    text = text_of(value)
    return Denied(f"Error: the call was answered by a receiver: {text}")
