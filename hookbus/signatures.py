"""The signature of any callable, whatever its annotations name and on every version of Python.

From Python 3.14 on annotations are evaluated when they are read, and may name what is not there:
the class that is being made, a later one, or an import for type checkers only.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["signature_of"]


def signature_of(function: Callable[..., Any], *, eval_str: bool = False) -> inspect.Signature:
    """Return the signature of a callable.

    From Python 3.14 on, an annotation that names what is not there yet is a `ForwardRef`. Where an
    annotation cannot be evaluated for another reason, all of that callable's are strings. Before
    3.14, they are what they were when the function was made.

    Args:
        function: what is called.
        eval_str: whether every annotation must be evaluated, strings included.

    Raises:
        TypeError: if it is not a callable.
        ValueError: if it does not say how it is called, as some built-in functions do not.
        Exception: with `eval_str`, what evaluating an annotation raised.
    """
    if sys.version_info >= (3, 14) and not eval_str:
        from annotationlib import Format

        read = inspect.signature  # noqa: TID251 - the one place
        try:
            # Not as strings from the start: `report` looks at what a `Literal` lists.
            return read(function, annotation_format=Format.FORWARDREF)
        except Exception:  # of an annotation; or of the callable, which raises once more
            return read(function, annotation_format=Format.STRING)
    return inspect.signature(function, eval_str=eval_str)  # noqa: TID251
