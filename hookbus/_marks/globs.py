"""Connect receivers of plugin objects to every hook that matches a glob."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fnmatch import translate
from re import compile as pattern
from typing import Any

from .._connections.phases import PHASES
from ..exceptions import HookError


class Globs:
    """Receivers that are registered for globs such as `pre_send_*`. They are connected to existing
    and later hooks of a bus.
    """

    def __init__(self, bus: Any) -> None:
        self._bus = bus
        self._all: dict[object, _Glob] = {}

    def connect(
        self, name: str, receiver: Callable[..., Any], options: dict[str, Any]
    ) -> Callable[[], None]:
        """Connect a receiver to a signal, or to the signals of all hooks that a glob matches.
        Return a function that disconnects the receiver.

        Raises:
            HookError: if the glob does not begin with a phase, or if a connection is rejected.
        """
        if not any(each in name for each in "*?["):
            undo: Callable[[], None] = self._bus.signal(name).connected_to(
                receiver, **options
            ).disconnect
            return undo
        phase = next((each for each in PHASES if name.startswith(f"{each}_")), None)
        if phase is None:
            raise HookError(
                f"the glob {name!r} must begin with a phase ({', '.join(PHASES)}), as in "
                "'pre_send_*'"
            )
        key, made = object(), _Glob(self._bus, phase, name, receiver, options)
        self._all[key] = made

        def take_back() -> None:
            self._all.pop(key, None)
            made.undo.close()

        try:
            for hook in self._bus._switchboard.hook_names():
                made.meet(hook)
        except BaseException:
            take_back()
            raise
        return take_back

    def declared(self, hook: str) -> None:
        """Connect the receivers of all globs that match a new hook."""
        for each in list(self._all.values()):
            each.meet(hook)

    def unmet(self) -> Iterator[str]:
        """Yield the globs that match no hook yet."""
        yield from dict.fromkeys(each.text for each in self._all.values() if not each.met)


class _Glob:
    def __init__(
        self, bus: Any, phase: str, text: str, receiver: Callable[..., Any],
        options: dict[str, Any],
    ) -> None:  # fmt: skip
        self._bus, self._phase, self.text = bus, phase, text
        self._receiver, self._options = receiver, options
        self._matches = pattern(translate(text.removeprefix(f"{phase}_"))).match
        self.undo, self.met = ExitStack(), set[str]()

    def meet(self, hook: str) -> None:
        """Connect the receiver to a hook if the glob matches it. Skip hookspecs, because they have
        no phases.
        """
        if hook in self.met or not self._matches(hook):
            return
        if any(each.is_question for each in self._bus._switchboard.declared(hook)):
            return
        made = self._bus.signal(f"{self._phase}_{hook}").connected_to(
            self._receiver, **self._options
        )
        self.undo.callback(made.disconnect)
        self.met.add(hook)
