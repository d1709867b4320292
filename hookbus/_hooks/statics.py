"""Find the classes of hookable static methods. A call of a static method has no object, so its
class is found from the function.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

from .._callables.callables import layers
from .._connections.senders import own_class
from .hook import Hook, hook_of, hooks_in
from .identity import attributes_of_class, place_of_class, with_subclasses
from .placement import make_site
from .site import Site

_Holders = list[tuple[Hook, type]]
_one_walk: Final = ContextVar[tuple[frozenset[Hook], Callable[[], _Holders]] | None](
    "_one_walk", default=None
)


@contextmanager
def one_walk(hooks: Iterable[Hook]) -> Iterator[None]:
    """Search all classes at most once for these hookables until the block ends."""
    searched = frozenset(hooks)
    token = _one_walk.set((searched, cache(lambda: list(_search(searched)))))
    try:
        yield
    finally:
        _one_walk.reset(token)


def static_holders(hooks: Iterable[Hook]) -> Iterator[tuple[Hook, type]]:
    """Yield each of these hookables with each class that has it as a static method."""
    wanted = frozenset(hooks)
    searched, find = _one_walk.get() or (frozenset(), list)
    if wanted <= searched:
        return (pair for pair in find() if pair[0] in wanted)
    return _search(wanted)


def _search(hooks: Iterable[Hook]) -> Iterator[tuple[Hook, type]]:
    named = [hook for hook in hooks if hook.looks_like_method]
    names = {hook.body.__name__ for hook in named}
    places = {hook.named_place for hook in named}
    for cls in with_subclasses([object]) if named else ():
        attributes = attributes_of_class(cls)
        # A program has thousands of classes, and almost none of them is looked at closely.
        if place_of_class(cls) in places or any(name in attributes for name in names):
            yield from ((hook, cls) for hook in named if _attribute_in(cls, hook) is not None)


def holder_of(hook: Hook) -> type | None:
    """Return the class that has a hookable as a static method, or None."""
    return _place_of(hook)[0]


def _place_of(hook: Hook) -> tuple[type | None, str]:
    """Return the class that has a hookable as a static method, or None, and the attribute name."""
    kept, attribute = hook.__dict__.get("_static_place", (lambda: None, ""))
    holder: type | None = kept()
    if holder is not None and _is_held_as(hook, holder, attribute):
        return holder, attribute
    attribute = hook.body.__name__
    if not hook.looks_like_method:
        holder, attribute = next(_places_below(hook), (None, ""))
    else:
        named = _named_class(hook)
        if named is not None and any(_held_under(named, attribute, hook)):
            holder = named if _is_held_as(hook, named, attribute) else None  # usually a method
        else:
            holder = next((cls for _, cls in static_holders([hook])), None)
            attribute = (holder and _attribute_in(holder, hook)) or attribute
    if holder is not None:
        hook.__dict__["_static_place"] = weakref.ref(holder), attribute
    return holder, attribute


def _places_below(hook: Hook) -> Iterator[tuple[type, str]]:
    """Yield the classes in which a function from outside overrides an inherited hookable as a
    static method, each with the attribute name.
    """
    board = hook.bus._switchboard
    others = [each for each in board.declared(hook.name) if each.looks_like_method]
    for other in others:
        base = _place_of(other)[0] or class_of(other, board.looked_at.owners)
        for cls in with_subclasses([base]) if base is not None else ():
            names = list(attributes_of_class(cls))
            yield from ((cls, name) for name in names if _is_held_as(hook, cls, name))


def class_of(hook: Hook, looked_at: Callable[[], list[type]]) -> type | None:
    """Return the class that has a hookable as a method. The class is one of the classes from
    `looked_at`, or is found by its qualified name.
    """
    for cls in (_named_class(hook), *looked_at()):
        if cls is not None and any(held is hook for _, held in hooks_in((cls,))):
            return cls
    return None


def is_method(hook: Hook) -> bool:
    """Return whether a hookable looks like a method that takes its object as the first argument."""
    return hook.looks_like_method and holder_of(hook) is None


def inherited(hook: Hook, site: Site, sender: Any) -> tuple[Site, list[Any]]:
    """Return the site of a hookable, and other senders whose receivers also apply to it. If the
    hookable overrides a static method, or is a static method that overrides a method, the site
    includes the settings of the overridden hookables.

    The other senders are the static methods that the hookable overrides. For a static method that
    overrides a method, they are the classes that have the method.
    """
    if site.attribute is not None:
        line, attribute = own_class(sender).__mro__, site.attribute
    else:
        holder, attribute = (None, "") if hook.settings.sender else _place_of(hook)
        if holder is None:
            return site, []
        line = holder.__mro__[1:]
    kin = [pair for cls in line for pair in _held_under(cls, attribute, hook)]
    statics = [each for each, is_static in kin if is_static and each is not hook]
    senders: list[Any] = [each.shell for each in statics]
    if site.attribute is None:
        statics = [each for each, _ in kin]
        senders += line[:-1] if any(not is_static for _, is_static in kin) else ()
    made = make_site([hook, *statics], site.attribute, site.is_owner, site.is_guarded)
    return site._replace(
        is_guarded=made.is_guarded, on_block=site.on_block or made.on_block
    ), senders


def _held_under(cls: type, attribute: str, hook: Hook) -> Iterator[tuple[Hook, bool]]:
    """Yield the hookables with a hook's name in a class, and whether each hookable is a static
    method.
    """
    raw = attributes_of_class(cls).get(attribute)
    is_static = issubclass(type(raw), staticmethod)
    for function in layers(getattr(raw, "__func__", raw)):
        held = hook_of(function)
        if held is not None and held.name == hook.name and held.bus is hook.bus:
            yield held, is_static


def _attribute_in(cls: type, hook: Hook) -> str | None:
    """Return the attribute under which a class has a hookable as a static method, or None. The
    attribute has the hookable's own name, or any name in the class that defines the hookable.
    """
    names = [hook.body.__name__, *(attributes_of_class(cls) if hook.is_named_in(cls) else ())]
    return next((name for name in names if _is_held_as(hook, cls, name)), None)


def _is_held_as(hook: Hook, cls: type, attribute: str) -> bool:
    raw: Any = attributes_of_class(cls).get(attribute)
    is_static = issubclass(type(raw), staticmethod)
    return is_static and any(hook_of(each) is hook for each in layers(raw.__func__))


def _named_class(hook: Hook) -> type | None:
    named: Any = inspect.getmodule(hook.body)
    for part in hook.body.__qualname__.split(".")[:-1]:
        named = getattr(named, "__dict__", {}).get(part)
    return named if isinstance(named, type) else None
