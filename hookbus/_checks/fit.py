"""Find the hookables that a sender can call, and recognize objects that cannot be senders."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import FunctionType, MethodType
from typing import Any

from blinker import ANY

from .._connections.senders import is_class, name_of_sender, own_class
from .._hooks.hook import Hook, hook_of, hooks_in
from .._hooks.identity import attributes_of_class, with_subclasses
from .._hooks.statics import class_of, holder_of
from ..exceptions import HookError


def check_sender(
    hooks: list[Hook], sender: FunctionType, looked_at: Callable[[], list[type]]
) -> None:
    """Raise HookError for a function that is never the sender of a call: a method, or a function
    that is not hookable.

    Raises:
        HookError: with a message that gives the reason and says what to write instead.
    """
    named, own = sender.__qualname__, hook_of(sender)
    by_argument = next((hook for hook in hooks if hook.settings.sender), None)
    if own is None and by_argument is not None:
        raise HookError(
            f"{named} is a function, which is never the sender of {by_argument.name}: connect to "
            f"the {by_argument.settings.sender} made from it, or to the class of that object"
        )
    if own is None and hooks:
        raise HookError(
            f"{named} is not hookable, so it is never the sender of a call; "
            "to decorate a receiver, write @connect_via(); to connect one, pass it as the first "
            "argument"
        )
    cls = class_of(own, looked_at) if own is not None else None
    if cls is None and own in hooks and name_of_sender(sender) is None:
        # Possibly no module contains the class, for example because a function defines it.
        cls = class_of(own, lambda: with_subclasses([object]))
    if cls is not None:
        raise HookError(
            f"{named} is a method, which is never the sender of a call: connect to "
            f"{cls.__qualname__}, or to an instance"
        )


def check_can_call(sender: Any) -> None:
    """Raise HookError for a value that looks like an object or a class but is never the first
    argument of a call.

    Raises:
        HookError: with a message that says what to write instead.
    """
    whole = typing.get_origin(sender)
    if whole is not None:
        named = getattr(whole, "__qualname__", None) or whole
        raise HookError(
            f"{sender!r:.60} is an annotation, which cannot be a sender: connect to {named}"
        )
    # A proxy forwards calls to its target, and its `__class__` is the class of the target.
    try:
        stands_in = sender.__class__ is not type(sender)
    except Exception:
        stands_in = True
    if stands_in:
        raise HookError(
            f"an object of {type(sender).__qualname__} is a proxy, and calls are made by its "
            "target: connect to that object, or to its class"
        )


def check_functions_of(hooks: list[Hook], sender: Any) -> None:
    """Raise HookError for a class or object whose hookables are static methods or bound functions,
    because each of these functions is its own sender.
    """
    cls = own_class(sender)
    holders = [*cls.__mro__, *([sender] if cls is not sender else [])]
    attributes = [list(getattr(each, "__dict__", {}).items()) for each in holders]
    for attribute, raw in [pair for pairs in attributes for pair in pairs]:
        hook = hook_of(raw) if isinstance(raw, (staticmethod, MethodType)) else None
        if hook in hooks:
            is_static = isinstance(raw, staticmethod)
            what = "a staticmethod" if is_static else "a function that is bound to an object"
            raise HookError(
                f"{cls.__qualname__}.{attribute} is {what}, so the sender of its calls is the "
                f"function itself: write sender={hook.shell.__qualname__}"
            )


def hooks_called_by(hooks: list[Hook], sender: Any) -> Iterator[tuple[Hook, bool]]:
    """Yield the hooks that a sender can call, most likely hooks first, and whether each hook is a
    method of the sender.
    """
    if sender is ANY:
        yield from ((hook, hook.looks_like_method) for hook in hooks)
        yield from ((hook, False) for hook in hooks if hook.looks_like_method and holder_of(hook))
        return
    own = hook_of(sender)
    if not isinstance(sender, FunctionType):
        for hook in hooks:
            if hook.settings.sender:
                yield hook, False
    if own is not None:
        if own in hooks:
            yield own, False
        return
    mro = own_class(sender).__mro__
    for attribute in dict.fromkeys(map(attrgetter("body.__name__"), hooks)):
        for base in mro:
            raw = attributes_of_class(base).get(attribute)
            held = hook_of(raw) if isinstance(raw, (FunctionType, classmethod)) else None
            if held is not None and held in hooks:
                yield held, True
                break
    nearest = dict(reversed([pair for pair in hooks_in(mro) if pair[1] in hooks]))
    yield from ((hook, True) for hook in nearest.values())


def may_call(sender: Any, declared: list[Hook]) -> bool:
    """Return whether a sender, or an object made from it, has one of these hookables."""
    if isinstance(sender, FunctionType):
        return hook_of(sender) in declared
    if any(hook.settings.sender for hook in declared):
        return True
    own = {} if is_class(sender) else getattr(sender, "__dict__", {})
    if any(hook_of(each) in declared for each in list(own.values())):
        return True
    for cls in with_subclasses([own_class(sender)]):
        kind: type = type(cls)
        line = (*cls.__mro__, *kind.__mro__)
        if any(hook in declared for _, hook in hooks_in(line)):
            return True
        if any(hook.is_named_in(each) for hook in declared for each in line):
            return True
    return False
