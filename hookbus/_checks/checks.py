"""Check each connection when it is made, so that no call needs to check it. Find methods that
override a hookable, but are not hookable.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from types import FunctionType
from typing import Any, Final

from blinker import ANY

from .._callables.callables import code_of, layers
from .._callables.instructions import returns_nothing
from .._connections.phases import ANSWER
from .._connections.receiver import Connected
from .._connections.senders import own_class
from .._connections.signal import HookSignal
from .._ground.errors import warn
from .._hooks.hook import Hook, held_in, hook_of
from .._hooks.identity import attributes_of_class, mro_of, with_subclasses
from .._hooks.statics import class_of, holder_of, static_holders
from ..exceptions import HookError
from .fit import check_can_call, check_functions_of, check_sender, hooks_called_by
from .misplaced import MisplacedGuards

_VERDICTS: Final = {"Block": "a Block", "Ask": "an Ask"}


class Checks:
    """Checks the connections of one bus.

    It rejects connections that cannot work, and warns about guards that code can bypass.
    """

    def __init__(self, bus: Any) -> None:
        self._bus, self._board = bus, bus._switchboard
        self._misplaced = MisplacedGuards(self._board)
        self.expect, self.report_misplaced = self._misplaced.expect, self._misplaced.look

    # -- one connection ----------------------------------------------------------------------------

    def check_sender(self, signal: HookSignal, sender: Any) -> None:
        """Raise HookError for an object that can never be a sender of this signal.

        Raises:
            HookError: with a message that contains the correct form.
        """
        if signal is self._board.events and sender is not self._bus:
            raise HookError(
                "the sender of events is always the bus: leave out sender=; to decorate a "
                "listener, write @events.connect_via()"
            )
        if signal.phase == ANSWER:
            name = signal.name
            raise HookError(
                f"{name} is a hookspec and takes no sender: write @{name}.connect or "
                f"@{name}.connect_via(priority=1)"
            )
        if signal.phase is not None:
            if type(sender) is not type:
                check_can_call(sender)
            if isinstance(sender, FunctionType):
                hooks = self._board.declared(signal.hook)
                check_sender(hooks, sender, self._board.looked_at.owners)

    def check(self, receiver: Connected, sender: Any) -> None:
        """Raise HookError for a receiver that suits none of the hookables that its sender can call,
        and warn about a guard that code can bypass.

        Raises:
            HookError: with a message that describes the problem, such as an unavailable parameter,
                and says what to write instead.
        """
        signal, problem, is_met = receiver.signal, None, False
        hooks = self._board.declared(signal.hook)
        for hook, is_method in hooks_called_by(hooks, sender):
            found = receiver.problem_with(hook.served(as_method=is_method))
            if is_met := found is None:
                break
            problem = problem or found
        if problem is not None and not is_met:
            raise HookError(problem)
        if sender is not ANY and not is_met:
            check_functions_of(hooks, sender)
        if receiver.role == "guard" and not (signal.phase and is_met):
            self._misplaced.wait(signal)
        if receiver.on_error == "block" and sender is not ANY:
            own = hook_of(sender)
            cls = (own and holder_of(own)) or own_class(sender)
            classes = with_subclasses([cls]) if cls is sender or own else [cls]
            self.report_overrides(receiver, signal.hook, classes, warn)

    def warn_of_lost_verdict(self, guard: Connected) -> None:
        """Warn about a guard that creates a verdict but never returns it, so it can never block."""
        code = code_of(guard.held)
        for name, verdict in _VERDICTS.items():
            if code is not None and name in code.co_names:
                if returns_nothing(code):
                    write = f"write return {name}({'reason' if name == 'Block' else 'question'})"
                    guards = f"{guard.label} on {guard.signal.name}"
                    warn(f"{guards} creates {verdict} but never returns it: {write}")
                return

    def report_overrides(
        self, receiver: Connected, hook: str, classes: list[type], say: Callable[[str], Any]
    ) -> None:
        """Report the overrides in these classes whose calls bypass a blocking receiver."""
        for cls in classes:
            self._board.look_at(cls).add(hook)
        for override in uncovered_overrides(self._bus, classes, hook):
            say(f"{receiver.label} does not guard all of {override}")

    # -- the whole bus -----------------------------------------------------------------------------

    def uncovered(self) -> list[str]:
        """Describe each override of a hookable method that is not hooked, and say whether receivers
        see its calls. The result covers only classes that receivers were connected to, or whose
        methods were called.
        """
        owners = (cls for _, cls in static_holders(self._board.hooks()))
        classes = [*self._board.looked_at.owners(), *owners]
        return uncovered_overrides(self._bus, with_subclasses(classes))

    def class_of(self, hook: Hook) -> type | None:
        """Return the class that defines the method of a hook, or None if that class is not known. A
        class is known if a receiver was connected to it, if its method was called, or if its
        qualified name leads to it.
        """
        return class_of(hook, self._board.looked_at.owners)


def uncovered_overrides(
    bus: object, classes: Iterable[type], hook_name: str | None = None
) -> list[str]:
    """Describe the methods of these classes that override a hookable of this bus, but are not
    hookable. Each message says whether receivers see the calls of the method.
    """
    found: set[str] = set()
    for cls in classes:
        for attribute, hook, _ in held_in(mro_of(cls)):
            if hook.bus is bus and hook_name in (None, hook.name):
                found.update(_uncovered(cls, attribute, hook))
    return sorted(found)


def _uncovered(cls: type, attribute: str, hook: Hook) -> Iterator[str]:
    mro = mro_of(cls)
    place = 0
    while attribute not in attributes_of_class(mro[place]):
        place += 1
    holder, above = mro[place], mro[place + 1 :]
    override = attributes_of_class(holder)[attribute]
    if hook_of(override) is not None:
        return
    passes_on = _passes_on(above, attribute, override)
    if passes_on is None:
        return
    where = f"{holder.__module__}.{holder.__qualname__}.{attribute}"
    if all(held is not hook for _, held, _ in held_in(mro_of(holder)[1:])):
        where += f" (ahead of it in {cls.__qualname__})"
    sees = "receivers see only what it passes to super()"
    seen = sees if passes_on else "no receiver sees it"
    yield (
        f"{where}, which overrides a hookable: {seen}; decorate it with @hookable({hook.name!r}), "
        "or its base class with @hook_overrides"
    )


def _passes_on(above: tuple[type, ...], attribute: str, override: Any) -> bool | None:
    """Return whether the code of an override calls the overridden method, or None if the override
    is hookable. The use of `functools.wraps` does not prove such a call.
    """
    inherited = {hook for _, hook, _ in held_in(above)}
    functions = layers(getattr(override, "__func__", override))
    own = list(takewhile(lambda layer: hook_of(layer) not in inherited, functions))
    if any(hook_of(layer) is not None for layer in own):
        return None
    parents = {"super", *(base.__name__ for base in above)}
    codes = [function.__code__ for function in own]
    while codes:
        code = codes.pop()
        if attribute in code.co_names and parents.intersection(code.co_names + code.co_freevars):
            return True
        codes.extend(constant for constant in code.co_consts if inspect.iscode(constant))
    return False
