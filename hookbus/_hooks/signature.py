"""Convert positional arguments to a dict by parameter name, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._callables.parameters import by_kind
from .._connections.phases import FunctionKind
from .._ground.errors import did_you_mean
from ..exceptions import HookError


class Signature(NamedTuple):
    """The parameters of a function, grouped by how a call passes them.

    Attributes:
        names: all parameters in order.
        positional: the parameters that are passed by position.
        star: the name of `*args`, or None.
        double_star: the name of `**kwargs`, or None.
        reserved: the names that `**kwargs` cannot contain, because they are parameters.
    """

    names: tuple[str, ...]
    positional: tuple[str, ...]
    star: str | None
    double_star: str | None
    reserved: frozenset[str]

    @classmethod
    def of(cls, signature: inspect.Signature, hidden: Sequence[str] = ()) -> Signature:
        """Return the parameters without the hidden parameters, which receivers neither see nor
        change.
        """
        seen = {name: each for name, each in signature.parameters.items() if name not in hidden}
        only, either, star, keyword_only, double_star = by_kind(seen.values())
        reserved = frozenset(either + keyword_only)
        return cls(
            tuple(seen), only + either, next(iter(star), None),
            next(iter(double_star), None), reserved,
        )  # fmt: skip

    def without_first(self) -> Signature:
        """Return the signature of the bound method, without its first parameter. If the function
        has only `*args`, `*args` takes the first argument and stays.
        """
        if not self.positional:
            return self
        return self._replace(names=self.names[1:], positional=self.positional[1:])

    def bind(self, values: tuple[Any, ...]) -> dict[str, Any]:
        """Return the values by name. `values` must be in the order of `names` and include the
        defaults.
        """
        return dict(zip(self.names, values, strict=True))

    def check(self, bindings: Mapping[str, Any]) -> None:
        """Raise HookError if the function cannot be called with these bindings."""
        for name in bindings:
            if name not in self.names:
                raise HookError(
                    f"there is no argument {name!r}{did_you_mean(str(name), self.names)}"
                )
        for name in self.names:
            if name not in bindings:
                raise HookError(f"the argument {name!r} was removed: assign another value instead")
        if self.star and not isinstance(bindings[self.star], (tuple, list)):
            raise HookError(
                f"*{self.star} takes a tuple or a list, not {type(bindings[self.star]).__name__}"
            )
        if self.double_star:
            self._check_extra(bindings[self.double_star])

    def _check_extra(self, extra: Any) -> None:
        if not isinstance(extra, Mapping) or not all(isinstance(name, str) for name in extra):
            raise HookError(
                f"**{self.double_star} takes a mapping of names to values, not "
                f"{type(extra).__name__}"
            )
        clash = self.reserved.intersection(extra)
        if clash:
            raise HookError(
                f"**{self.double_star} contains {min(clash)!r}, which is a parameter of its own: "
                "patch that parameter"
            )


def kind_of(body: Callable[..., Any]) -> FunctionKind:
    if inspect.isasyncgenfunction(body):
        return "async generator"
    if inspect.iscoroutinefunction(body):
        return "async"
    return "generator" if inspect.isgeneratorfunction(body) else "sync"
