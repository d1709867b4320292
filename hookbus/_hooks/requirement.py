"""Whether every call of a hook is watched over: what `Bus.require_guard` asks at start-up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final

from blinker import ANY

from .._connections.callables import code_of
from .._connections.receiver import Connected
from .._connections.senders import Bearer, describe, is_class, name_of_sender, own_class
from .._connections.signal import HookSignal
from ..exceptions import HookError, undeclared
from .frameworks import TOOL_HOOK, check_adapters
from .holders import hooks_called_by
from .hook import Hook, hook_of, hooks_in
from .overrides import uncovered_overrides, with_subclasses
from .statics import inherited, static_holders

PHASES_WITH_GUARDS: Final = ("pre", "item", "post")


def check_required(bus: Any, name: str, phase: str, sender: Any, default: Any) -> None:
    """Check that a guard of this phase watches over every call of the hooks of one name.

    Args:
        bus: whose hooks they are.
        sender: whose calls are meant; None is every class that declares one, and every function.
        default: the bus where a guard may have been connected by mistake.

    Raises:
        HookError: as `check_guarded`, where nothing declares the hook, and of `tool_call` where an
            agent framework is imported without its adapter.
    """
    if name == TOOL_HOOK and sender is None:
        check_adapters()
    hooks = bus._declared(name)
    if not hooks:
        raise HookError(f"nothing declares the hook {name!r}{undeclared(name, bus.hook_names())}")
    astray = [] if bus is default or default._declared(name) else default._signals_of(name)
    check_guarded(hooks, [*bus._signals_of(name), *astray], phase, sender)


def check_guarded(
    hooks: list[Hook], signals: list[HookSignal], phase: str, sender: Any = None
) -> None:
    """Check that a guard of this phase watches over every call of hooks of one name.

    Args:
        hooks: all there are of it.
        signals: theirs, and of their name on a bus where they are not.
        sender: whose calls are meant; None is every class that declares one, and every function.

    Raises:
        HookError: naming what is bare, and why each guard there is does not count.
    """
    if phase not in PHASES_WITH_GUARDS:
        raise HookError(f"phase={phase!r} has no guards: write 'pre', 'item' or 'post'")
    name, bus = hooks[0].name, hooks[0].bus
    here = [signal for signal in signals if signal.phase == phase and signal._home is bus]
    held = _holders(hooks) if sender is None else []
    found = _callers(hooks, held) if sender is None else [_caller(hooks, sender)]
    bare = [who for who, whose in found if not any(_watches(each, whose) for each in here)]
    if bare:
        is_one = sender is not None and not is_class(sender)
        whose = "to it, its class or ANY" if is_one else "to the class or ANY"
        advice = f"connect one to {phase}_{name}, {whose}, without when= and enforced"
        vain = [*_in_vain(signals, phase)]
        raise HookError(
            f"{name} has no guard that watches over every call of {', '.join(sorted(set(bare)))}: "
            f"{advice}" + "".join(f"; {each}" for each in vain)
        )
    classes = [cls for _, cls, *_ in held]
    classes += [cls for _, cls in static_holders(hooks)] if sender is None else []
    overrides = uncovered_overrides(bus, with_subclasses(classes), name)
    # What an override adds to a result or a stream, it adds behind these.
    is_behind = phase != "pre"
    if unseen := [each for each in overrides if is_behind or "nothing sees it" in each]:
        raise HookError(f"{name} is guarded, but {'; '.join(unseen)}")


Whose = tuple[Any, ...]
"""A sender; the MRO of its calls' objects where it is a class that stands for these, or None; and
further senders whose guards hold for it.
"""


def _watches(signal: HookSignal, whose: Whose) -> bool:
    """Tell whether a guard watches over every call of a sender."""
    sender, mro, *more = whose
    own = [receiver for _, receiver in signal._matching(sender)]
    if mro is not None:
        own = [each for each in own if _is_of_any(each.sender, mro)]
    further = [receiver for each in more for _, receiver in signal._matching(each)]
    return any(receiver.binds for receiver in (*own, *further))


def _is_of_any(sender: Callable[[], Any] | None, classes: tuple[type, ...]) -> bool:
    """Tell whether a scope is that of one of these classes, or of whoever bears its name."""
    if isinstance(sender, Bearer):
        return any(name_of_sender(cls) == sender.name for cls in classes)
    return sender is None or any(sender() is cls for cls in classes)


Held = tuple[Hook, type, str, bool]
"""A hook, a class that holds its hookable, the name it has there, and whether as a classmethod."""


def _callers(hooks: list[Hook], held: list[Held]) -> Iterator[tuple[str, Whose]]:
    """Yield all who declare one of the hooks, described, each as a sender."""
    for hook in hooks:
        if getattr(hook.body, "__isabstractmethod__", False):
            continue  # only what overrides it is called
        own = [place for place in held if place[0] is hook]
        for _, cls, attribute, is_classmethod in own:
            _, more = inherited(hook, hook.site_as(attribute), cls)
            yield cls.__qualname__, (cls, None if is_classmethod else cls.__mro__, *more)
        if not own:
            is_of_any = hook.is_question or hook.given.sender
            sender = None if is_of_any else hook.shell
            _, more = inherited(hook, hook.site_as(None), sender)
            yield hook.body.__qualname__, (sender, None, *more)


def _holders(hooks: list[Hook]) -> list[Held]:
    """Return every class that holds one of the hookables: they are looked through once."""
    held: list[Held] = []
    for cls in with_subclasses([object]):
        for as_class in (False, True):
            names = {hook: attribute for attribute, hook in hooks_in((cls,), as_class)}
            held += [(hook, cls, names[hook], as_class) for hook in hooks if hook in names]
    return held


def _caller(hooks: list[Hook], sender: Any) -> tuple[str, Whose]:
    """Return one sender, described.

    Raises:
        HookError: where it calls none of the hooks.
    """
    if sender is ANY or not any(True for _ in hooks_called_by(hooks, sender)):
        own = " (is it hookable on another bus?)" if hook_of(sender) else ""
        raise HookError(f"sender={describe(sender)} has no hookable {hooks[0].name!r}{own}")
    more = _further(hooks, sender)
    mro = sender.__mro__ if is_class(sender) else None
    if mro and any(hook in hooks for _, hook in hooks_in(mro, as_class=True)):
        return describe(sender), (sender, None, *more)
    named = describe(sender, is_named=any(hook.given.sender for hook in hooks))
    return named, (sender, mro, *more)


def _further(hooks: list[Hook], sender: Any) -> list[Any]:
    """Return the static methods, and the classes, whose guards hold for a sender that overrides
    what they have.
    """
    if isinstance(sender, FunctionType):
        own = hook_of(sender)
        return inherited(own, own.site_as(None), sender)[1] if own is not None else []
    held = ((name, hook) for name, hook in hooks_in(own_class(sender).__mro__) if hook in hooks)
    attribute, hook = next(held, (None, hooks[0]))
    return inherited(hook, hook.site_as(attribute), sender)[1] if attribute is not None else []


def _in_vain(signals: list[HookSignal], phase: str) -> Iterator[str]:
    """Say of each guard there is why it does not count."""
    for signal in signals:
        for receiver in signal.connections():
            if receiver.role == "guard":
                yield f"{receiver.label} does not count: it {_why(receiver, signal, phase)}"
            elif signal.phase == phase and may_block(receiver):
                yield f"{receiver.label} does not count: it is no guard, write role='guard'"


def may_block(receiver: Connected) -> bool:
    """Tell whether a receiver has blocked, or makes a block that it could return."""
    code = code_of(receiver.function)
    makes = code is not None and not {"Block", "Ask"}.isdisjoint(code.co_names)
    return receiver.has_blocked or makes


def _why(receiver: Connected, signal: HookSignal, phase: str) -> str:
    if not signal._home._declared(signal.hook):
        return "is on another bus, which has no such hook"
    if signal.phase != phase:
        return f"is on {signal.name}"
    if receiver.options.shadow:
        return "is in shadow"
    if receiver.options.when is not None:
        return "has a when="
    if not receiver.is_enabled:
        return "is disabled"
    owner = receiver.owner
    what = "the class " if isinstance(owner, type) else ""
    what = "" if isinstance(owner, FunctionType) else what
    named = owner.__qualname__ if isinstance(owner, (type, FunctionType)) else describe(owner)
    return f"is connected to {what}{named} only"
