"""The one place that turns source text into functions: the shell of a hookable, and the plans that are compiled."""

from __future__ import annotations

import functools
import inspect
import keyword
import linecache
from collections.abc import Callable
from inspect import Parameter
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from ..exceptions import HookError
from .identity import Unshipped

HOT: Final = 8
"""So many calls are walked before code is generated for them."""

COLOUR_FLAGS = {
    "sync": 0,
    "async": inspect.CO_COROUTINE,
    "generator": inspect.CO_GENERATOR,
    "async generator": inspect.CO_ASYNC_GENERATOR,
}


class Shell:
    """The function that stands in for a hookable, and its ways to run.

    Its code is a generated line. Idle, it calls the body; else it looks up what runs the call. To change the code of a
    function is one atomic step: a call goes the old way or the new. The code is a plain `def` whatever the colour, so that
    a call makes one coroutine or generator and not two; the colour is only said, by the flags of the code.

    What the code needs are its globals: among the constants of a code the garbage collector does not look.

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
        self._codes: dict[str, CodeType] = Unshipped()
        taken = {p.name for p in parameters}
        self._names = {name: free_name(name, taken) for name in ("find", "of_class", "type", "of_one", "id", "body", "run")}
        # A class made anew by attrs(slots=True) repairs the `__class__` cell that zero-argument super() reads, but looks
        # for it only in the functions it finds in the class.
        cells = _class_cell(body)
        self._free = ["__class__"] * len(cells)
        code = self._code("{body}({passed})")
        self.function = FunctionType(code, {self._names["body"]: body}, body.__name__, _defaults(parameters), cells)
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
        # All of them: who ships a function by value brings along only those its code read at that moment.
        given = {"body": self._body, "type": type, "id": id, "find": find, "of_class": of_class, "of_one": of_one}
        self.function.__globals__.update({self._names[name]: value for name, value in given.items()})

    def rest(self) -> None:
        """Let calls go straight to the body."""
        self._take("{body}({passed})")

    def look_up(self, *, classes: bool, ones: bool) -> None:
        """Let calls look up what runs them: by the class of the first argument, by the object itself, or by both."""
        self._take(self._way(classes, ones))

    def go_to(self, run: Callable[..., Any]) -> None:
        """Let every call go to `run`, which is called as the body is. Where it did so before, that is one atomic step."""
        self.function.__globals__[self._names["run"]] = run
        self._take("{run}({passed})")

    @property
    def goes_to(self) -> Any:
        """Where `go_to` has every call go."""
        return self.function.__globals__.get(self._names["run"])

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
        values = "({})".format("".join(f"{p.name}, " for p in parameters))
        source = [
            f"def make({', '.join(self._free)}):",
            f"    def shell({declared(parameters)}):",
            f"        return {way}",
            *[f"        {name}" for name in self._free],
            "",
        ]
        text = "\n".join(source).format(**self._names, values=values, passed=passed(parameters))
        filename, code = f"<hookbus {_name_of(self._body)}>", _shell_code(text)
        _remember(text, filename)
        name, qualname = self._body.__name__, self._body.__qualname__
        flags = code.co_flags | COLOUR_FLAGS[self._colour]
        return code.replace(co_flags=flags, co_name=name, co_qualname=qualname, co_filename=filename)


def _class_cell(body: Callable[..., Any]) -> tuple[CellType, ...]:
    code, closure = getattr(body, "__code__", None), getattr(body, "__closure__", None)
    if code is None or closure is None or "__class__" not in code.co_freevars:
        return ()
    return (closure[code.co_freevars.index("__class__")],)


@functools.lru_cache(maxsize=1024)
def maker(source: str) -> Callable[..., Any]:
    """Return the function `make` that a source text defines; equal texts are compiled once.

    It is given objects and returns a function that has them in its closure.
    """
    from zlib import crc32  # not needed until a plan is hot

    namespace: dict[str, Any] = {}
    filename = f"<hookbus plan {crc32(source.encode()):08x}>"
    _remember(source, filename)
    exec(compile(source, filename, "exec"), namespace)
    make: Callable[..., Any] = namespace["make"]
    return make


@functools.lru_cache(maxsize=1024)
def _shell_code(source: str) -> CodeType:
    """Return the code of the function inside `make`; hookables that are called alike have it in common."""
    return _inner_code(compile(source, "<hookbus>", "exec"))


def _remember(source: str, filename: str) -> None:
    """Have tracebacks and debuggers show the source of what is compiled under this name."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)


def _name_of(body: Callable[..., Any]) -> str:
    return f"{getattr(body, '__module__', '?')}.{body.__qualname__}"


def declared(parameters: list[Parameter], mark: Callable[[str], str] = str) -> str:
    """Write the parameter list; defaults are placeholders here and set on the function, whatever they are."""
    parts: list[str] = []
    kinds = [p.kind for p in parameters]
    for index, p in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY and p.VAR_POSITIONAL not in kinds and p.KEYWORD_ONLY not in kinds[:index]:
            parts.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        parts.append(stars + mark(p.name) + ("" if p.default is p.empty else "=None"))
        if p.kind is p.POSITIONAL_ONLY and p.POSITIONAL_ONLY not in kinds[index + 1 :]:
            parts.append("/")
    return ", ".join(parts)


def passed(parameters: list[Parameter], mark: Callable[[str], str] = str) -> str:
    forms: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*{0}", Parameter.VAR_KEYWORD: "**{0}", Parameter.KEYWORD_ONLY: "{0}={0}"}
    return ", ".join(forms.get(p.kind, "{0}").format(mark(p.name)) for p in parameters)


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
