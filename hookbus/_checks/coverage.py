"""Check at start-up that every call to a hook has a guard, for `Bus.require_guard`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final

from blinker import ANY

from .._callables.callables import code_of
from .._connections.receiver import Connected
from .._connections.senders import NamedSender, describe, is_class, name_of_sender, own_class
from .._connections.signal import HookSignal
from .._ground.errors import undeclared
from .._hooks.hook import Hook, held_in, hook_of, hooks_in
from .._hooks.identity import with_subclasses
from .._hooks.placement import site_as
from .._hooks.statics import inherited, static_holders
from ..exceptions import HookError
from .checks import uncovered_overrides
from .fit import hooks_called_by
from .frameworks import TOOL_HOOK, check_adapters

PHASES_WITH_GUARDS: Final = ("pre", "item", "post")


def check_required(bus: Any, name: str, phase: str, sender: Any, default: Any) -> None:
    """Check that guards of a phase cover every call to the hooks with one name.

    Args:
        bus: the bus of the hooks.
        sender: the sender to check. None means every class and function that declares a hook.
        default: the bus to which a guard may have been connected by mistake.

    Raises:
        HookError: as in `check_guarded`, and if nothing declares the hook. For `tool_call`, the
            error is also raised if an agent framework is imported without its adapter.
    """
    if name == TOOL_HOOK and sender is None:
        check_adapters()
    hooks = bus._switchboard.declared(name)
    if not hooks:
        raise HookError(f"nothing declares the hook {name!r}{undeclared(name, bus.hook_names())}")
    board, other = bus._switchboard, default._switchboard
    astray = [] if bus is default or other.declared(name) else other.signals_of(name)
    check_guarded(hooks, [*board.signals_of(name), *astray], phase, sender)


def check_guarded(
    hooks: list[Hook], signals: list[HookSignal], phase: str, sender: Any = None
) -> None:
    """Check that guards of a phase cover every call to the hooks with one name.

    Args:
        hooks: all hooks with this name.
        signals: the signals of these hooks, and signals with the same name on a bus that does not
            declare the hook.
        sender: the sender to check. None means every class and function that declares a hook.

    Raises:
        HookError: with a message that names the methods without a guard, and says why each existing
            guard is not sufficient.
    """
    if phase not in PHASES_WITH_GUARDS:
        raise HookError(f"phase={phase!r} cannot have guards: write 'pre', 'item' or 'post'")
    name, bus = hooks[0].name, hooks[0].bus
    here = [signal for signal in signals if signal.phase == phase and signal._bus is bus]
    holders = _holders(hooks) if sender is None else []
    found = _callers(hooks, holders) if sender is None else [_caller(hooks, sender)]
    bare = [who for who, whose in found if not any(_watches(each, whose) for each in here)]
    if bare:
        is_one = sender is not None and not is_class(sender)
        whose = "for it, its class or ANY" if is_one else "for the class or ANY"
        advice = f"connect a guard to {phase}_{name}, {whose}, enforced and without when="
        vain = [*_in_vain(signals, phase)]
        raise HookError(
            f"no guard covers every {name!r} call of {', '.join(sorted(set(bare)))}: "
            f"{advice}" + "".join(f"; {each}" for each in vain)
        )
    classes = [cls for _, cls, *_ in holders]
    classes += [cls for _, cls in static_holders(hooks)] if sender is None else []
    overrides = uncovered_overrides(bus, with_subclasses(classes), name)
    # These guards run before an override can change the result or the stream.
    is_behind = phase != "pre"
    if unseen := [each for each in overrides if is_behind or "no receiver sees it" in each]:
        raise HookError(f"{name} is guarded, but not every override is: {'; '.join(unseen)}")


Whose = tuple[Any, ...]
"""A sender; the MRO of its instances if the sender is a class that represents them, else None; and
further senders whose guards apply to it.
"""


def _watches(signal: HookSignal, whose: Whose) -> bool:
    """Return whether a guard covers every call of a sender."""
    sender, mro, *more = whose
    own = [receiver for _, receiver in signal._matching(sender)]
    if mro is not None:
        own = [each for each in own if _is_of_any(each.sender, mro)]
    further = [receiver for each in more for _, receiver in signal._matching(each)]
    return any(receiver.binds for receiver in (*own, *further))


def _is_of_any(sender: Callable[[], Any] | None, classes: tuple[type, ...]) -> bool:
    """Return whether a connection applies to one of these classes, or to a class with the same
    name.
    """
    if isinstance(sender, NamedSender):
        return any(name_of_sender(cls) == sender.name for cls in classes)
    return sender is None or any(sender() is cls for cls in classes)


Held = tuple[Hook, type, str, bool]
"""A hook, a class that has its hookable, the name of that attribute, and whether it is a
classmethod.
"""


def _callers(hooks: list[Hook], holders: list[Held]) -> Iterator[tuple[str, Whose]]:
    """Yield each class or function that declares one of the hooks: its description, and the data
    that identify it as a sender.
    """
    for hook in hooks:
        if getattr(hook.body, "__isabstractmethod__", False):
            continue  # only its overrides are called
        own = [place for place in holders if place[0] is hook]
        for _, cls, attribute, is_classmethod in own:
            _, more = inherited(hook, site_as(hook, attribute), cls)
            yield cls.__qualname__, (cls, None if is_classmethod else cls.__mro__, *more)
        if not own:
            is_of_any = hook.is_question or hook.settings.sender
            sender = None if is_of_any else hook.shell
            _, more = inherited(hook, site_as(hook, None), sender)
            argument = hook.settings.sender
            who = f"any {argument}" if argument else hook.body.__qualname__
            yield who, (sender, None, *more)


def _holders(hooks: list[Hook]) -> list[Held]:
    """Return every class that has one of the hookables. All classes are searched only once for all
    hooks.
    """
    holders: list[Held] = []
    for cls in with_subclasses([object]):
        held = {
            (hook, kind is classmethod): attribute
            for attribute, hook, kind in held_in((cls,)) if kind is not staticmethod
        }  # fmt: skip
        for as_class in (False, True) if held else ():
            named = [(hook, held.get((hook, as_class))) for hook in hooks]
            holders += [(hook, cls, name, as_class) for hook, name in named if name is not None]
    return holders


def _caller(hooks: list[Hook], sender: Any) -> tuple[str, Whose]:
    """Return the description of a sender, and its data.

    Raises:
        HookError: if the sender cannot call any of the hooks.
    """
    if sender is ANY or not any(True for _ in hooks_called_by(hooks, sender)):
        own = " (is it hookable on another bus?)" if hook_of(sender) else ""
        raise HookError(f"sender={describe(sender)} has no hookable {hooks[0].name!r}{own}")
    more = _further(hooks, sender)
    mro = sender.__mro__ if is_class(sender) else None
    if mro and any(hook in hooks for _, hook in hooks_in(mro, as_class=True)):
        return describe(sender), (sender, None, *more)
    named = describe(sender, is_named=any(hook.settings.sender for hook in hooks))
    return named, (sender, mro, *more)


def _further(hooks: list[Hook], sender: Any) -> list[Any]:
    """Return the static methods and classes whose guards also apply to a sender, because the sender
    overrides their methods.
    """
    if isinstance(sender, FunctionType):
        own = hook_of(sender)
        return inherited(own, site_as(own, None), sender)[1] if own is not None else []
    held = ((name, hook) for name, hook in hooks_in(own_class(sender).__mro__) if hook in hooks)
    attribute, hook = next(held, (None, hooks[0]))
    return inherited(hook, site_as(hook, attribute), sender)[1] if attribute is not None else []


def _in_vain(signals: list[HookSignal], phase: str) -> Iterator[str]:
    """Yield for each existing guard the reason why it is not sufficient."""
    for signal in signals:
        for receiver in signal.connections():
            if receiver.role == "guard":
                yield f"{receiver.label} is not sufficient: it {_why(receiver, signal, phase)}"
            elif signal.phase == phase and may_block(receiver):
                yield f"{receiver.label} is not sufficient: it is not a guard; write role='guard'"


def may_block(receiver: Connected) -> bool:
    """Return whether a receiver has blocked a call, or creates a block that it could return."""
    code = code_of(receiver.function)
    makes = code is not None and not {"Block", "Ask"}.isdisjoint(code.co_names)
    return receiver.has_blocked or makes


def _why(receiver: Connected, signal: HookSignal, phase: str) -> str:
    if not signal._bus._switchboard.declared(signal.hook):
        return "is on another bus, where nothing declares the hook"
    if signal.phase != phase:
        return f"is on {signal.name}"
    if receiver.options.shadow:
        return "is in shadow mode"
    if receiver.options.when is not None:
        return "has a when= condition"
    if not receiver.is_enabled:
        return "is disabled"
    owner = receiver.owner
    what = "the class " if isinstance(owner, type) else ""
    what = "" if isinstance(owner, FunctionType) else what
    named = owner.__qualname__ if isinstance(owner, (type, FunctionType)) else describe(owner)
    return f"is connected to {what}{named} only"
