"""The one place that turns source text into functions: here, the shell that stands in for a hookable function."""

from __future__ import annotations

import functools
import inspect
import keyword
import linecache
from collections.abc import Callable
from inspect import Parameter
from types import CellType, CodeType, FunctionType
from typing import Any

from .exceptions import HookError

COLOUR_FLAGS = {
    "sync": 0,
    "async": inspect.CO_COROUTINE,
    "generator": inspect.CO_GENERATOR,
    "async generator": inspect.CO_ASYNC_GENERATOR,
}


def make_shell(body: Callable[..., Any], signature: inspect.Signature, colour: str) -> tuple[FunctionType, CellType]:
    """Return a function that looks like `body`, and the cell that is its switch.

    While the cell holds None the shell calls `body` directly. Else it calls what the cell holds, with one tuple of the
    parameters' values in the order of the signature. The shell is a plain `def` whatever its colour, so an idle call
    costs no second coroutine or generator; the colour is only said, by the flags of its code object.
    """
    parameters = list(signature.parameters.values())
    for parameter in parameters:
        if not parameter.name.isidentifier() or keyword.iskeyword(parameter.name):
            raise HookError(f"{body!r} has a parameter named {parameter.name!r}, which no caller can write")
    taken = {parameter.name for parameter in parameters}
    body_name, switch_name = _free("body", taken), _free("switch", taken)
    # A class made anew by attrs(slots=True) repairs the `__class__` cell that zero-argument super() reads, but looks for
    # it only in the functions it finds in the class. Naming the cell here puts it where attrs looks.
    class_cell = _class_cell(body)
    source = _source(parameters, body_name, switch_name, with_class=class_cell is not None)
    filename = f"<hookbus {getattr(body, '__module__', '?')}.{body.__qualname__}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)

    code = _inner_code(compile(source, filename, "exec")).replace(co_name=body.__name__, co_qualname=body.__qualname__)
    code = code.replace(co_flags=code.co_flags | COLOUR_FLAGS[colour])
    switch = CellType(None)
    cells = {body_name: CellType(body), switch_name: switch, "__class__": class_cell}
    shell = FunctionType(code, {}, body.__name__, _defaults(parameters), tuple(cells[n] for n in code.co_freevars))  # type: ignore[misc]
    shell.__kwdefaults__ = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}
    functools.update_wrapper(shell, body)
    return shell, switch


def switch_of(shell: FunctionType) -> CellType:
    """Return the cell that is the switch of a shell."""
    names = shell.__code__.co_freevars
    index = next(i for i, name in enumerate(names) if name.rstrip("_") == "switch")
    cell: CellType = shell.__closure__[index]  # type: ignore[index]
    return cell


def _source(parameters: list[Parameter], body: str, switch: str, *, with_class: bool) -> str:
    values = "".join(f"{p.name}, " for p in parameters)
    lines = [
        "def make({}):".format(", ".join([body, switch] + ["__class__"] * with_class)),
        f"    def shell({_declared(parameters)}):",
        f"        if {switch} is None:",
        f"            return {body}({_passed(parameters)})",
        f"        return {switch}(({values}))",
    ]
    return "\n".join([*lines, *["        __class__"] * with_class, "    return shell", ""])


def _declared(parameters: list[Parameter]) -> str:
    """Write the parameter list; defaults are placeholders here and set on the function, whatever they are."""
    parts: list[str] = []
    kinds = [p.kind for p in parameters]
    for index, p in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY and p.VAR_POSITIONAL not in kinds and p.KEYWORD_ONLY not in kinds[:index]:
            parts.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        parts.append(stars + p.name + ("" if p.default is p.empty else "=None"))
        if p.kind is p.POSITIONAL_ONLY and p.POSITIONAL_ONLY not in kinds[index + 1 :]:
            parts.append("/")
    return ", ".join(parts)


def _passed(parameters: list[Parameter]) -> str:
    forms: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*{0}", Parameter.VAR_KEYWORD: "**{0}", Parameter.KEYWORD_ONLY: "{0}={0}"}
    return ", ".join(forms.get(p.kind, "{0}").format(p.name) for p in parameters)


def _defaults(parameters: list[Parameter]) -> tuple[Any, ...] | None:
    positional = (p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return tuple(p.default for p in positional if p.default is not p.empty) or None


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _class_cell(body: Callable[..., Any]) -> CellType | None:
    code, closure = getattr(body, "__code__", None), getattr(body, "__closure__", None)
    if code is None or closure is None or "__class__" not in code.co_freevars:
        return None
    cell: CellType = closure[code.co_freevars.index("__class__")]
    return cell


def _inner_code(code: CodeType) -> CodeType:
    """Return the code of the innermost function: module -> make -> shell."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return _inner_code(inner[0]) if inner else code
