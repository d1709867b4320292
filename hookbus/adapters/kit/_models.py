"""The methods by which the models of an adapter's framework are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from ..._keywords import named_options
from .._asides import Aside
from .._models import hook_models
from .._streams import Forms
from .._tools import Gate
from ._places import find


class _Adapter(Protocol):
    def words(self, *hooks: str) -> None: ...

    def also(self, step: Callable[[Gate], Any]) -> Any: ...


class Model:
    """The models of a framework, as `Adapter.model` returns them."""

    def __init__(self, adapter: _Adapter, aside: type[Aside] | None) -> None:
        self._adapter, self._aside = adapter, aside

    def hooked(
        self, paths: Iterable[str], word: str, forms: Forms | None, messages: str | None,
        is_async: bool | None,
    ) -> Model:  # fmt: skip
        """Hook methods, and return this object."""

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
        """Make each call of methods that return an answer in parts a `model_call`, too.

        Args:
            paths: the methods.
            whole: joins all parts into an answer, in the form of the methods without streaming.
            items: makes parts of an answer that a receiver changed or returned: usually one.
            messages: as in `Adapter.model`, like `is_async`.

        Returns:
            The same object, for further methods.
        """
        self._adapter.words("model_stream")
        return self.hooked(paths, "model_stream", Forms(whole, items), messages, is_async)
