"""Holds back CrewAI's own events about a model's answer until the guards have returned."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from ._asides import Aside, aside_of
from ._patches import Patches

_ABOUT = "model", "call_id", "task_id", "task_name", "agent_id", "agent_role"


class Events(Aside):
    """Events about the parts and the complete answer, for the listeners of CrewAI's event bus."""

    def report(self, each: Any) -> None:
        import_module("crewai.events.event_bus").crewai_event_bus.emit(self.model, each)

    def report_changed(self, each: Any, answer: Any) -> None:
        if _is_complete(each):
            serialized = import_module("crewai.utilities.serialization").to_serializable(answer)
            self.report(each.model_copy(update={"response": serialized}))

    def report_failed(self, each: Any, error: BaseException) -> None:
        if _is_complete(each):  # each started call gets an end event
            failed = import_module("crewai.events.types.llm_events").LLMCallFailedEvent
            about = {name: getattr(each, name) for name in _ABOUT}
            self.report(failed(error=str(error) or type(error).__name__, **about))


def _is_complete(event: Any) -> bool:
    return hasattr(event, "response")


def keep_events(patches: Patches) -> None:
    """Hold back CrewAI's events about an answer if guards must check the answer."""
    events = import_module("crewai.events.types.llm_events")
    kinds = events.LLMStreamChunkEvent, events.LLMThinkingChunkEvent, events.LLMCallCompletedEvent

    def kept(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        def emit(bus: Any, source: Any, event: Any) -> Any:
            aside = aside_of(source) if isinstance(event, kinds) else None
            if aside is None:
                return stock(bus, source, event)
            aside.reports.append(event)
            return None

        return emit

    patches.wrap(import_module("crewai.events.event_bus").CrewAIEventsBus, "emit", kept)
