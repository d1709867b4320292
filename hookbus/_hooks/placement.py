"""Determine the sender and the settings of a call once, before its plan is created."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

from .._connections.senders import is_class, own_class
from .hook import Hook, held_in, hooks_in
from .identity import (
    HEAP_TYPE,
    NO_SENDER,
    InstanceRuns,
    Line,
    Run,
    attributes_of_class,
    hold,
    mro_of,
)
from .site import Site


class Placement:
    """The sender and the settings of one call. They are determined before the plan is created, so
    that an outdated plan is never cached.

    Attributes:
        site: the settings of the hookable for this call, and its position in the class.
        sender: the sender of the call.
    """

    def __init__(self, hook: Hook, values: tuple[Any, ...]) -> None:
        self._hook, self._own_changed, self._table = hook, hook.own_changed, hook.table
        # Mark the tables before reading anything, so that `discard_plans` replaces them from now
        # on.
        self._table.mark_used()
        self._first = first_of(hook, values)
        own = hook.own_runs.get(id(self._first[0])) if self._first else None
        self._own: InstanceRuns | None = getattr(own, "__self__", None)
        if self._own is not None:
            self._own.mark_used()
        # Read the MROs before anything else of the classes: the plan is valid only for these MROs.
        self._mros = lines_of(self._first)
        self.site = site_of(hook, self._first[0]) if self._first else site_as(hook, None)
        is_function = self.site.attribute is None and hook.settings.sender is None
        self.sender: Any = hook.shell if is_function else self._first[0]

    def keep(self, run: Run) -> None:
        """Cache `run` for similar calls until connections change, if possible."""
        hook, table = self._hook, self._table
        if not self._first:
            table[NO_SENDER] = run
            return
        (first,) = self._first
        by_argument = hook.settings.sender is not None
        if not (hook.function_signature.positional or by_argument) or (
            by_argument and type(first) is FunctionType
        ):
            return  # for the first item of `*args`, or a function, the plan is looked up each time
        if not all(hold(*line, hook) for line in self._mros):
            return
        if any(mro is not now for (_, mro), (_, now) in zip(self._mros, lines_of(self._first))):
            return  # a thread or signal handler has changed the class in the meantime
        (cls, mro), *of_class = self._mros
        is_function = self.site.attribute is None and not by_argument
        if is_function and any(each.__flags__ & HEAP_TYPE for each, _ in self._mros):
            run = hook.routes.while_function(run, first)
        if self._own is not None:
            self._own.keep(cls, mro, run)
        elif of_class:
            table.keep_of_class(run, hook.routes.by_class, *self._mros)
        elif hook.own_changed is self._own_changed and not hook.bus._switchboard.has_own(
            hook.name, first
        ):
            table.keep(cls, mro, run)

    def below(self) -> Iterator[Hook]:
        """Yield the hookable methods with this hook's name that are later in the MRO and have
        cached calls. Each of these may have been the first in the MRO before a class got this
        method.
        """
        for _, line in () if self._hook.is_alone or self.site.attribute is None else self._mros:
            for _, other in hooks_in(line):
                is_below = other is not self._hook and other.name == self._hook.name
                if is_below and other.bus is self._hook.bus and _has_runs(other, *self._first):
                    yield other


def first_of(hook: Hook, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a tuple with the object that determines the plan of a call: the first argument, or the
    argument that is the sender. Return an empty tuple without such an argument.
    """
    if hook.settings.sender is not None:
        return (values[hook.function_signature.names.index(hook.settings.sender)],)
    if hook.function_signature.positional:
        return values[:1]
    return tuple(values[0][:1]) if hook.function_signature.star else ()


def lines_of(first: tuple[Any, ...]) -> list[Line]:
    """Return the class of the first argument with its MRO. If the argument is a class, also return
    it with its MRO.
    """
    lines: list[Line] = []
    for each in first:
        lines.append((type(each), mro_of(type(each))))
        if is_class(each):
            lines.append((each, mro_of(each)))
    return lines


def _has_runs(hook: Hook, first: Any) -> bool:
    """Return whether calls with this first argument have a cached function that runs receivers."""
    key, own = id(type(first).__mro__), hook.own_runs.get(id(first), dict[int, Run]().get)
    kept = own(key), hook.table.get(key)
    return is_class(first) or any(each not in (None, hook.body) for each in kept)


# -- the position of a hookable in a class ---------------------------------------------------------


def site_of(hook: Hook, first: Any) -> Site:
    """Return the site of a hookable for this first argument or sender."""
    if is_sender := hook.settings.sender is not None:
        site = site_as(hook, None)
    else:
        site = _find_site(hook, type(first).__mro__, first.__mro__ if is_class(first) else ())
    if is_sender or site.attribute is not None:
        hook.bus._switchboard.look_at(own_class(first))
    return site


def site_of_class(hook: Hook, cls: type) -> Site:
    """Return the site of a hookable for any instance of a class."""
    return _find_site(hook, cls.__mro__, cls.__mro__)


def _find_site(hook: Hook, mro: tuple[type, ...], class_mro: tuple[type, ...]) -> Site:
    for line, as_class in ((mro, False), (class_mro, True)):
        held = list(held_in(line))
        for attribute, each, kind in held:
            if each is hook and kind is not staticmethod and (kind is classmethod) is as_class:
                kin: list[Hook] = []
                for at, other, kind in held:
                    is_kin = (at, other.name, other.bus) == (attribute, hook.name, hook.bus)
                    # A class method may override a plain one, and vice versa.
                    is_first = (kind is classmethod) is as_class
                    if is_kin and kind is not staticmethod and (kin or is_first):
                        kin.append(other)
                return site_as(hook, attribute, kin)
    # If a decorator does not set `__wrapped__`, the method below it is found by its name.
    name = hook.body.__qualname__.rpartition(".")[2]
    for cls in (*mro, *class_mro):
        if hook.is_named_in(cls):
            is_static = isinstance(attributes_of_class(cls).get(name), staticmethod)
            return site_as(hook, None if is_static else name)
    return site_as(hook, None)


def site_as(hook: Hook, attribute: str | None, kin: list[Hook] | None = None) -> Site:
    """Return the site of a hookable with this attribute name. `kin` are the hookables with this
    name in an MRO.
    """
    kin = kin or [hook]
    is_required = hook.name in hook.bus._switchboard.required
    return make_site(kin, attribute, kin[0] is hook, is_required)


def make_site(kin: list[Hook], attribute: str | None, is_owner: bool, is_required: bool) -> Site:
    """Return the site of a hookable, from the settings of the hookable and of those that it
    overrides.
    """
    found: dict[str, Any] = {
        "require_guard": False, "on_block": None, "sealed": True, "passes": (), "identity": None,
    }  # fmt: skip
    for each in reversed(kin):
        for name in found:
            if (value := getattr(each.settings, name)) is not None:
                found[name] = value
    is_guarded = found.pop("require_guard") or is_required
    return Site(attribute, is_owner, is_guarded, *found.values())
