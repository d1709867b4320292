"""The one place that turns source text into functions: the shell of a hookable, and the plans that are compiled."""

from __future__ import annotations

import functools
import inspect
import keyword
import linecache
from collections.abc import Callable
from inspect import Parameter
from types import CodeType, FunctionType
from typing import Any, Final
from zlib import crc32

from ._identity import Unshipped
from .exceptions import HookError

COLOUR_FLAGS = {
    "sync": 0,
    "async": inspect.CO_COROUTINE,
    "generator": inspect.CO_GENERATOR,
    "async generator": inspect.CO_ASYNC_GENERATOR,
}

_GIVEN: Final = "<given>"
"""The constant in the source of a shell in whose place its code holds a tuple of objects."""


class Shell:
    """The function that stands in for a hookable one, and its ways to run.

    Idle, it has the very code of the body, so that a call costs what it cost before. Else its code is a generated line that
    looks up what runs the call. To change the code of a function is one atomic step: a call goes the old way or the new.
    The generated code is a plain `def` whatever the colour, so that a call makes one coroutine or generator and not two;
    the colour is only said, by the flags of the code.

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
        self._free = code.co_freevars if code else ()
        self._codes: dict[Any, CodeType] = Unshipped()
        self._idle = code or self._code("{body}({passed})", body=body)
        closure, names = (body.__closure__, body.__globals__) if code else (None, {})
        self.function = FunctionType(self._idle, names, body.__name__, _defaults(parameters), closure)
        keyword_only = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty]
        self.function.__kwdefaults__ = {p.name: p.default for p in keyword_only}
        functools.update_wrapper(self.function, body)

    def rest(self) -> None:
        """Let calls go straight to the body."""
        self.function.__code__ = self._idle

    def look_up(self, find: Any, of_class: Any, of_one: Any = None, *, only_ones: bool = False) -> None:
        """Let calls look up the function that runs them; it is called as the body is.

        Args:
            find: gives it, from a tuple of the values of all parameters.
            of_class: gives it for the class of the first argument, or None; then `find` is asked.
            of_one: gives it for the `id` of the first argument, or None; asked first.
            only_ones: ask nobody but `of_one`; where it gives None, the body runs.
        """
        key = (of_one is not None, only_ones)
        if key not in self._codes:
            given = {"find": find, "of_class": of_class, "of_one": of_one, "body": self._body, "type": type, "id": id}
            self._codes[key] = self._code(self._way(*key), **given)
        self.function.__code__ = self._codes[key]

    def pass_on(self, run: Callable[[tuple[Any, ...]], Any]) -> None:
        """Let every call go to `run`, with a tuple of the values of all parameters."""
        if run not in self._codes:
            self._codes[run] = self._code("{run}({values})", run=run)
        self.function.__code__ = self._codes[run]

    def go_to(self, run: Callable[..., Any]) -> None:
        """Let every call go to `run`, which is called as the body is."""
        self.function.__code__ = self._code("{run}({passed})", run=run)

    def _way(self, has_ones: bool, only_ones: bool) -> str:
        first = self.parameters[0] if self.parameters else None
        if first is None or first.kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            return "{find}({values})({passed})"
        if only_ones:
            return "{of_one}({id}(FIRST), {body})({passed})".replace("FIRST", first.name)
        one = "{of_one}({id}(FIRST)) or " if has_ones else ""
        way = one + "{of_class}({type}(FIRST)) or {find}({values})"
        return f"({way})({{passed}})".replace("FIRST", first.name)

    def _code(self, way: str, **given: Any) -> CodeType:
        """Compile a code that returns `way`, in which the names in braces stand for what is given."""
        parameters = self.parameters
        taken = {p.name for p in parameters}
        local = {name: free_name(name, taken) for name in given if f"{{{name}}}" in way}
        values = "({})".format("".join(f"{p.name}, " for p in parameters))
        text = way.format(**local, values=values, passed=passed(parameters))
        source = [
            "def make({}):".format(", ".join(self._free)),
            f"    def shell({declared(parameters)}):",
            "        {} = {!r}".format("".join(f"{name}, " for name in local.values()), _GIVEN),
            f"        return {text}",
            # Never reached: it makes the body's free variables those of this code too, for they share one closure.
            *([f"        {', '.join(self._free)}"] if self._free else []),
            "",
        ]
        code = _inner_code(compile_source("\n".join(source), f"<hookbus {_name_of(self._body)}>"))
        constants = tuple(tuple(given[name] for name in local) if c == _GIVEN else c for c in code.co_consts)
        flags = code.co_flags | COLOUR_FLAGS[self._colour]
        name, qualname = self._body.__name__, self._body.__qualname__
        return code.replace(
            co_consts=constants, co_flags=flags, co_freevars=self._free, co_name=name, co_qualname=qualname
        )


def _own_code(body: Callable[..., Any]) -> CodeType | None:
    """Return the code of a plain function that shows its true signature, or None for any other callable."""
    if not isinstance(body, FunctionType) or hasattr(body, "__wrapped__") or hasattr(body, "__signature__"):
        return None
    return body.__code__ if all(name.isidentifier() for name in body.__code__.co_freevars) else None


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
