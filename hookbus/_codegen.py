"""The one place that turns source text into functions: the shell of a hookable, and the plans that are compiled."""

from __future__ import annotations

import functools
import inspect
import keyword
import linecache
from collections.abc import Callable
from dis import opmap
from inspect import Parameter
from types import CellType, CodeType, FunctionType
from typing import Any
from zlib import crc32

from ._identity import Unshipped
from .exceptions import HookError

COLOUR_FLAGS = {
    "sync": 0,
    "async": inspect.CO_COROUTINE,
    "generator": inspect.CO_GENERATOR,
    "async generator": inspect.CO_ASYNC_GENERATOR,
}


class Shell:
    """The function that stands in for a hookable, and its ways to run.

    Idle, it runs the code of the body, so that a call costs what it cost before. Else its code is a generated line that
    looks up what runs the call. To change the code of a function is one atomic step: a call goes the old way or the new.
    The generated code is a plain `def` whatever the colour, so that a call makes one coroutine or generator and not two;
    the colour is only said, by the flags of the code.

    What generated code needs is in two cells of the closure, behind those of the body. It could as well be among the
    constants of the code, but there the garbage collector does not look.

    Attributes:
        function: what callers hold.
        parameters: how it is called.
    """

    def __init__(self, body: Callable[..., Any], signature: inspect.Signature, colour: str) -> None:
        self._body, self._colour = body, colour
        self.parameters = parameters = list(signature.parameters.values())
        for parameter in parameters:
            if not parameter.name.isidentifier() or keyword.iskeyword(parameter.name):
                raise HookError(f"{body!r} has a parameter named {parameter.name!r}, which no caller can write")
        code = _own_code(body)
        self._codes: dict[str, CodeType] = Unshipped()
        taken = {*code.co_varnames, *code.co_cellvars, *code.co_freevars} if code else set()
        self._free = (*(code.co_freevars if code else ()), free_name("hookbus", taken), free_name("hookbus_ones", taken))
        self._idle = _with_free(code, self._free) if code else self._code("{body}({passed})")
        closure, names = (body.__closure__ or (), body.__globals__) if code else ((), {})
        self._common, self._ones = CellType(), CellType((None, id, body))
        cells = (*closure, self._common, self._ones)
        self.function = FunctionType(self._idle, names, body.__name__, _defaults(parameters), cells)
        keyword_only = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty]
        self.function.__kwdefaults__ = {p.name: p.default for p in keyword_only}
        functools.update_wrapper(self.function, body)

    def give(self, find: Any, of_class: Any, of_one: Any) -> None:
        """Say how to look up the function that runs a call; it is called as the body is.

        Args:
            find: gives it, from a tuple of the values of all parameters.
            of_class: gives it for the class of the first argument, or None; then `find` is asked.
            of_one: gives it for the `id` of the first argument, or a default.
        """
        self._common.cell_contents = find, of_class, type
        self._ones.cell_contents = of_one, id, self._body

    def rest(self) -> None:
        """Let calls go straight to the body."""
        self.function.__code__ = self._idle

    def look_up(self, *, classes: bool, ones: bool) -> None:
        """Let calls look up what runs them: by the class of the first argument, by the object itself, or by both."""
        self._take(self._way(classes, ones))

    def go_to(self, run: Callable[..., Any]) -> None:
        """Let every call go to `run`, which is called as the body is. Where it did so before, that is one atomic step."""
        self._ones.cell_contents = None, id, run
        self._take("{body}({passed})")

    def _take(self, way: str) -> None:
        if way not in self._codes:
            self._codes[way] = self._code(way)
        self.function.__code__ = self._codes[way]

    def _way(self, classes: bool, ones: bool) -> str:
        first = self.parameters[0] if self.parameters else None
        if first is None or first.kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            return "{find}({values})({passed})"
        if not classes:
            return "{of_one}({id}(FIRST), {body})({passed})".replace("FIRST", first.name)
        one = "{of_one}({id}(FIRST)) or " if ones else ""
        way = one + "{of_class}({type}(FIRST)) or {find}({values})"
        return f"({way})({{passed}})".replace("FIRST", first.name)

    def _code(self, way: str) -> CodeType:
        """Compile a code that returns `way`, in which the names in braces stand for what is given."""
        parameters = self.parameters
        taken = {p.name for p in parameters}
        local = {name: free_name(name, taken) for name in ("find", "of_class", "type", "of_one", "id", "body")}
        values = "({})".format("".join(f"{p.name}, " for p in parameters))
        # The closure is that of the body. Its names do not matter here; the compiler sorts free variables by name.
        free = [free_name(f"free{index:03}", taken) for index in range(len(self._free))]
        source = [
            f"def make({', '.join(free)}):",
            f"    def shell({declared(parameters)}):",
            *(["        {find}, {of_class}, {type} = {0}"] if "{find}" in way else []),
            *(["        {of_one}, {id}, {body} = {1}"] if "{of_one}" in way or "{body}" in way else []),
            f"        return {way}",
            f"        {', '.join(free)}",
            "",
        ]
        text = "\n".join(source).format(*free[-2:], **local, values=values, passed=passed(parameters))
        code = _inner_code(compile_source(text, f"<hookbus {_name_of(self._body)}>"))
        name, qualname = self._body.__name__, self._body.__qualname__
        flags = code.co_flags | COLOUR_FLAGS[self._colour]
        return code.replace(co_flags=flags, co_freevars=self._free, co_name=name, co_qualname=qualname)


def _own_code(body: Callable[..., Any]) -> CodeType | None:
    """Return the code of a plain function that shows its true signature, or None for any other callable."""
    if not isinstance(body, FunctionType) or hasattr(body, "__wrapped__") or hasattr(body, "__signature__"):
        return None
    code = body.__code__
    return code if not code.co_freevars or code.co_code[0] == opmap["COPY_FREE_VARS"] else None


def _with_free(code: CodeType, free: tuple[str, ...]) -> CodeType:
    """Return the same code for a closure that has more cells."""
    if not code.co_freevars:
        return code.replace(co_freevars=free)  # nothing is copied, for nothing is looked at
    copied = bytes([code.co_code[0], len(free)])
    return code.replace(co_freevars=free, co_code=copied + code.co_code[2:])


@functools.lru_cache(maxsize=1024)
def maker(source: str) -> Callable[..., Any]:
    """Return the function `make` that a source text defines; equal texts are compiled once.

    It is given objects and returns a function that has them in its closure.
    """
    namespace: dict[str, Any] = {}
    exec(compile_source(source, f"<hookbus plan {crc32(source.encode()):08x}>"), namespace)
    make: Callable[..., Any] = namespace["make"]
    return make


def compile_source(source: str, filename: str) -> CodeType:
    """Compile source text that tracebacks and debuggers can show."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return compile(source, filename, "exec")


def _name_of(body: Callable[..., Any]) -> str:
    return f"{getattr(body, '__module__', '?')}.{body.__qualname__}"


def declared(parameters: list[Parameter]) -> str:
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


def passed(parameters: list[Parameter]) -> str:
    forms: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*{0}", Parameter.VAR_KEYWORD: "**{0}", Parameter.KEYWORD_ONLY: "{0}={0}"}
    return ", ".join(forms.get(p.kind, "{0}").format(p.name) for p in parameters)


def _defaults(parameters: list[Parameter]) -> tuple[Any, ...] | None:
    positional = (p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return tuple(p.default for p in positional if p.default is not p.empty) or None


def free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _inner_code(code: CodeType) -> CodeType:
    """Return the code of the innermost function: module -> make -> shell."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return _inner_code(inner[0]) if inner else code
