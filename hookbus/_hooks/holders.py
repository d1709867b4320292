"""Which hookables a sender is known to call, and whether a receiver can serve one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any

from blinker import ANY

from .._connections.receiver import Connected
from ..exceptions import HookError
from .hook import Hook, hook_of, hooks_in
from .overrides import with_subclasses


def check_sender(hooks: list[Hook], sender: FunctionType, looked_at: Callable[[], list[type]]) -> None:
    """Refuse a function that is never the sender of a call: a method, or one that is not hookable where these are.

    Raises:
        HookError: saying why, and what to write instead.
    """
    named, own = sender.__qualname__, hook_of(sender)
    if own is None and hooks:
        raise HookError(
            f"{named} is not hookable and never the sender of a call; to decorate a receiver, write @connect_via()"
        )
    cls = class_of(own, looked_at) if own is not None else None
    if cls is None and own is not None and "." in named and own in hooks:
        # A class that no module names, as one made inside a function: it is looked for among all there are.
        cls = class_of(own, lambda: [each for each in with_subclasses([object]) if _has_name(each, own)])
    if cls is not None:
        raise HookError(
            f"{named} is a method and never the sender of a call: connect to {cls.__qualname__}, or to an instance"
        )


def _has_name(cls: type, hook: Hook) -> bool:
    return (cls.__module__, cls.__qualname__) == (hook.body.__module__, hook.body.__qualname__.rpartition(".")[0])


def _check_functions_of(hooks: list[Hook], sender: Any) -> None:
    """Refuse a class or an object of which these hooks are known only as functions, which are their own senders."""
    cls = sender if isinstance(sender, type) else type(sender)
    own = list(getattr(sender, "__dict__", {}).items()) if cls is not sender else []
    for attribute, raw in [*((n, r) for base in cls.__mro__ for n, r in list(vars(base).items())), *own]:
        if isinstance(raw, (staticmethod, MethodType)) and hook_of(raw) in hooks:
            what = "a staticmethod" if isinstance(raw, staticmethod) else "a function that was bound to an object"
            raise HookError(
                f"{cls.__qualname__}.{attribute} is {what}, and the sender of its calls is the function itself: "
                f"write sender={hook_of(raw).shell.__qualname__}"  # type: ignore[union-attr]
            )


def check_serves(receiver: Connected, hooks: list[Hook], sender: Any) -> None:
    """Refuse a receiver that can serve none of these hookables that the sender is known to call.

    Raises:
        HookError: saying what it asks for that is not there.
    """
    if sender is not ANY and _serves_likely(receiver, hooks, sender if isinstance(sender, type) else type(sender)):
        return
    problems = []
    if sender is ANY:
        called = [(hook, hook.looks_like_method) for hook in hooks]
    else:
        called = list(_called_by(hooks, sender))
        if not called:
            _check_functions_of(hooks, sender)
    for hook, is_method in called:
        problem = _problem(receiver, hook, is_method)
        if problem is None:
            return
        problems.append(problem)
    if problems:
        raise HookError(problems[0])


def class_of(hook: Hook, looked_at: Callable[[], list[type]]) -> type | None:
    """Return the class whose method a hookable is: one of these, or one that can be found under its name."""
    named: Any = inspect.getmodule(hook.body)
    for part in hook.body.__qualname__.split(".")[:-1]:
        named = getattr(named, part, None)
    candidates = [*([named] if isinstance(named, type) else []), *looked_at()]
    held = ((cls, found) for cls in candidates for flag in (False, True) for _, found in hooks_in((cls,), flag))
    return next((cls for cls, found in held if found is hook), None)


def _problem(receiver: Connected, hook: Hook, is_method: bool = True) -> str | None:
    signature = hook.method_signature if is_method else hook.function_signature
    return receiver.problem_with(hook.name, hook.colour, signature.names)


def _serves_likely(receiver: Connected, hooks: list[Hook], cls: type) -> bool:
    """Tell whether it serves one that a class holds under its own name, for which no other attribute is looked at."""
    for attribute in {hook.body.__name__ for hook in hooks}:
        for base in cls.__mro__:
            raw = base.__dict__.get(attribute)
            hook = hook_of(raw) if isinstance(raw, (FunctionType, classmethod)) else None
            if hook in hooks:
                if _problem(receiver, hook) is None:
                    return True
                break
    return False


def _called_by(hooks: list[Hook], sender: Any) -> Iterator[tuple[Hook, bool]]:
    """Yield all that the sender is known to call, and whether as a method."""
    own = hook_of(sender)
    if own is not None:
        if own in hooks:
            yield own, False
        return
    cls = sender if isinstance(sender, type) else type(sender)
    for as_class in (False, True):
        seen: set[str] = set()
        for attribute, hook in hooks_in(cls.__mro__, as_class):
            if hook in hooks and attribute not in seen:
                seen.add(attribute)
                yield hook, True
