"""Runs the `pre_hook` and the `post_hook` of a tool call with Agno's rules."""

from __future__ import annotations

import inspect
from typing import Any

from ..._ground.signatures import signature_of
from .._own_hooks import Hook, OwnHook
from ._hookables import sender_of
from ._views import shielded


class ToolEnds:
    """One call to a tool, before and after the tool and its `tool_hooks`.

    Attributes:
        fc: Agno's FunctionCall.
        function: the tool.
        sender: the sender of the call's hooks: the tool, or an object in its place.
        agent, team, run_context: the owners of the tool, or None.
    """

    def __init__(self, agno: Any, fc: Any, *, is_async: bool) -> None:
        self.fc, self.function = fc, fc.function
        self.sender = sender_of(fc.function, agno.module.Function)
        self.agent = fc.function._agent
        self.team = fc.function._team
        self.run_context = fc.function._run_context
        self._agno, self._is_async = agno, is_async
        self._own: Any = None
        self._phase = ""
        self._must_end = True
        # Whether the receivers let the start, or the end, run; and the answer of a receiver that
        # did not.
        self._is_reached = False
        self._answer: Any = None
        # The exception a hook raised to steer the run; the reason the tool must not run; the reason
        # its result is withheld.
        self._control: BaseException | None = None
        self._refusal: BaseException | None = None
        self._withheld: Exception | None = None

    def ask_own(self, own: OwnHook) -> Any:
        """Call the `pre_hook` or `post_hook` of the tool."""
        known = {
            "agent": self.agent, "team": self.team, "run_context": self.run_context, "fc": self.fc,
        }  # fmt: skip
        hook = self._own
        try:
            answer = hook(**self.asked_for(own, hook, known))
            if self._is_async and inspect.isawaitable(answer):
                return self._settled(answer)
            return self.read(answer)
        except BaseException as error:
            self.note(error)
            raise

    async def _settled(self, answer: Any) -> Any:
        try:
            return self.read(await answer)
        except BaseException as error:
            self.note(error)
            raise

    def read(self, answer: Any) -> Any:
        """Return the answer of a `pre_hook` or `post_hook` for hookbus. Plain return values are
        ignored, as in Agno."""
        if inspect.isawaitable(answer):
            return answer  # hookbus closes it and reports it
        return None

    def note(self, error: BaseException) -> None:
        """Store an exception that must reach the caller. Log any other exception, as Agno does."""
        if isinstance(error, self._agno.control_flow):
            self._control = error
        elif isinstance(error, Exception):
            self._agno.log_warning(f"Error in {self._phase} callback: {error}")
            self._agno.log_exception(error)

    def _ready(self, phase: str) -> bool:
        """Set the hook of a phase, and return whether to run it now."""
        self._control, self._phase, self._is_reached = None, phase, False
        self._own = self.function.pre_hook if phase == "pre-hook" else self.function.post_hook
        return self.is_due(phase)

    def is_due(self, phase: str) -> bool:
        """Return whether to run the hook of a phase now."""
        return True

    def _start_sync(self) -> None:
        if self._ready("pre-hook"):
            try:
                self._answer = self.sender.call("tool_start", self)
            except Exception as error:
                self.refuse(error)
            self.let_out()

    async def _start_async(self) -> None:
        if self._ready("pre-hook"):
            try:
                self._answer = await self.sender.call("atool_start", self)
            except Exception as error:
                self.refuse(error)
            self.let_out()

    def refuse(self, error: Exception) -> None:
        """Prevent the tool from running, so that the model gets a failed call."""
        self._refusal = self._control or self._agno.control_flow_in(error) or error

    def let_out(self) -> None:
        """Raise the exception with which a hook controls the run, if there is one."""
        if self._control is not None:
            if isinstance(self._control, self._agno.control_flow[0]):
                self.fc.error = str(self._control)
            raise self._control

    def _end_sync(self) -> None:
        if self._ready("post-hook"):
            try:
                self._answer = self.sender.call("tool_end", self)
            except Exception as error:
                self._withheld = error
            self.let_out()

    async def _end_async(self) -> None:
        if self._ready("post-hook"):
            try:
                self._answer = await self.sender.call("atool_end", self)
            except Exception as error:
                self._withheld = error
            self.let_out()

    def outcome(self, outcome: Any) -> Any:
        """Return the outcome for the caller of the tool. If a `tool_end` receiver blocked the
        result, the outcome does not contain it."""
        if self._withheld is not None:
            self.fc.error, self.fc.result = str(self._withheld), None
            return type(outcome)(status="failure", error=str(self._withheld))
        if not self._is_reached and self._must_end:
            outcome.result = self.fc.result = self._answer
        return outcome

    def reach(self) -> None:
        """Record that no receiver stopped the hook `tool_start` or `tool_end`."""
        self._is_reached = True

    def asked_for(self, own: OwnHook, hook: Hook, known: dict[str, Any]) -> dict[str, Any]:
        """Return the known values for which a hook has parameters."""
        names = own.names if own.names is not None else signature_of(hook).parameters
        asked = {name: known[name] for name in names if name in known}
        if "run_context" in asked:
            asked["run_context"] = shielded(asked["run_context"])
        return asked
