"""The signature of any callable, whatever its annotations name and on every version of Python.

From Python 3.14 on annotations are evaluated when they are read, and may name what is not there:
the class that is being made, a later one, or an import for type checkers only.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

__all__ = ["signature_of"]


def signature_of(function: Callable[..., Any], *, eval_str: bool = False) -> inspect.Signature:
    """Return the signature of a callable.

    From Python 3.14 on, an annotation that names what is not there yet is a `ForwardRef`. Where an
    annotation of a function raises something else, such as `"Agent" | None`, the signature has no
    annotations. Before 3.14, they are what they were when the function was made.

    Args:
        function: what is called.
        eval_str: whether every annotation must be evaluated, strings included.

    Raises:
        TypeError: if it is not a callable.
        ValueError: if it does not say how it is called, as some built-in functions do not.
        Exception: what evaluating an annotation raised: with `eval_str`, or of what is neither a
            function nor a method.
    """
    if sys.version_info >= (3, 14) and not eval_str:
        from annotationlib import Format

        read = inspect.signature  # noqa: TID251 - the one place
        try:
            # Not as strings: `report` looks at what a `Literal` lists.
            return read(function, annotation_format=Format.FORWARDREF)
        except Exception:
            bare = _without_annotations(function)
            if bare is None:
                raise
            return read(bare)
    return inspect.signature(function, eval_str=eval_str)  # noqa: TID251


def _without_annotations(function: Any) -> Any:
    """Return a function, or a bound method, of the same parameters; None for other callables."""
    function = inspect.unwrap(function, stop=lambda each: hasattr(each, "__signature__"))
    plain = function.__func__ if type(function) is MethodType else function
    if type(plain) is not FunctionType or hasattr(plain, "__signature__"):
        return None
    bare = FunctionType(plain.__code__, {}, plain.__name__, plain.__defaults__, plain.__closure__)
    bare.__kwdefaults__ = plain.__kwdefaults__
    return bare if plain is function else MethodType(bare, function.__self__)
