"""Read the signature of any callable, with any annotations, on every version of Python.

Since Python 3.14, annotations are evaluated when they are read. They may contain undefined names,
such as the class that is being defined, a later class, or an import for type checkers only.
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

    Since Python 3.14, an annotation with an undefined name is a `ForwardRef`. If the evaluation of
    an annotation raises another error, as `"Agent" | None` does, the signature has no annotations.
    Before Python 3.14, annotations have the values from the definition of the function.

    Args:
        function: the callable.
        eval_str: whether to evaluate every annotation, including strings.

    Raises:
        TypeError: if `function` is not callable.
        ValueError: if `function` has no signature, as is the case for some built-in functions.
        Exception: any exception that the evaluation of an annotation raises, with `eval_str` or for
            an object that is neither a function nor a method.
    """
    if sys.version_info >= (3, 14) and not eval_str:
        from annotationlib import Format

        read = inspect.signature  # noqa: TID251 - the only place that may call it
        try:
            # Annotations are not strings here, because `report` reads the values of a `Literal`.
            return read(function, annotation_format=Format.FORWARDREF)
        except Exception:
            bare = _without_annotations(function)
            if bare is None:
                raise
            return read(bare)
    return inspect.signature(function, eval_str=eval_str)  # noqa: TID251


def _without_annotations(function: Any) -> Any:
    """Return a function or bound method with the same parameters, or None for other callables."""
    function = inspect.unwrap(function, stop=lambda each: hasattr(each, "__signature__"))
    plain = function.__func__ if type(function) is MethodType else function
    if type(plain) is not FunctionType or hasattr(plain, "__signature__"):
        return None
    bare = FunctionType(plain.__code__, {}, plain.__name__, plain.__defaults__, plain.__closure__)
    bare.__kwdefaults__ = plain.__kwdefaults__
    return bare if plain is function else MethodType(bare, function.__self__)
