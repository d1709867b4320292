"""Describes the methods of a framework that call models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from ..._ground.keywords import named_options
from .._asides import Aside
from .._models import hook_models
from .._streams import Forms
from .._tools import Gate
from ._places import find


class _Adapter(Protocol):
    def words(self, *hooks: str) -> None: ...

    def also(self, step: Callable[[Gate], Any]) -> Any: ...


class Model:
    """The hooked model methods of an adapter, as returned by `Adapter.model`."""

    def __init__(self, adapter: _Adapter, aside: type[Aside] | None) -> None:
        self._adapter, self._aside = adapter, aside

    def hooked(
        self, paths: Iterable[str], word: str, forms: Forms | None, messages: str | None,
        is_async: bool | None,
    ) -> Model:  # fmt: skip
        """Hook methods that return whole answers, and return this object."""

        def hook(gate: Gate) -> None:
            for path in paths:
                cls, name = find(gate, path)
                hook_models(gate.vocabulary, cls, {name: word}, forms, messages=messages,
                            is_async=is_async, aside=self._aside)  # fmt: skip

        self._adapter.also(hook)
        return self

    @named_options
    def stream(
        self, *paths: str, whole: Callable[[list[Any]], Any],
        items: Callable[[Any], Iterable[Any]], messages: str | None = None,
        is_async: bool | None = None,
    ) -> Model:  # fmt: skip
        """Hook each call to a method that returns an answer in parts as `model_call`.

        Args:
            paths: the paths of the methods.
            whole: a function that joins all parts into one answer, of the same type as a request
                without streaming returns.
            items: a function that splits an answer into parts, for an answer that a receiver
                changed or returned. Usually, the function returns a single part.
            messages: as in `Adapter.model`, like `is_async`.

        Returns:
            The same object, so that calls can be chained.
        """
        self._adapter.words("model_stream")
        return self.hooked(paths, "model_stream", Forms(whole, items), messages, is_async)
