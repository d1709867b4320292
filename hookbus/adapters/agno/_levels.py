"""Describes where Agno keeps the input and output hooks of agents and teams."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import attrs


@attrs.frozen
class Level:
    """Describes one kind of run hook: input or output, of agents or teams.

    Attributes:
        name: `"agent"` or `"team"`, which is also the name of a parameter of these hooks.
        hook: `"run_input"` or `"run_output"`.
        cls: the class of the agents or teams.
        module: Agno's module that runs these hooks.
        started, completed: functions that make the events it streams.
        set_debug: the function that Agno calls after each hook.
        check_error: the exception that a hook raises to stop the run.
    """

    name: str
    hook: str
    cls: Any
    module: Any
    started: Callable[..., Any]
    completed: Callable[..., Any]
    set_debug: Callable[..., Any]
    check_error: Any

    @classmethod
    def of(cls, name: str, hook: str) -> Level:
        module, init = import_module(f"agno.{name}._hooks"), import_module(f"agno.{name}._init")
        prefix = "team_" if name == "team" else ""
        phase = "pre" if hook == "run_input" else "post"
        return cls(
            name, hook, getattr(import_module(f"agno.{name}"), name.title()), module,
            getattr(module, f"create_{prefix}{phase}_hook_started_event"),
            getattr(module, f"create_{prefix}{phase}_hook_completed_event"),
            init._set_debug if name == "team" else init.set_debug,
            module.InputCheckError if hook == "run_input" else module.OutputCheckError,
        )  # fmt: skip

    @property
    def is_input(self) -> bool:
        return self.hook == "run_input"

    @property
    def title(self) -> str:
        return "Pre-hook" if self.is_input else "Post-hook"
