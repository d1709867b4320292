"""The shell of a hookable: the function that replaces the original, and the compiler of generated
code.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
import linecache
from collections.abc import Callable, Mapping
from inspect import Parameter
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Final

from .._ground.errors import leave_frame
from ..exceptions import HookBlocked, HookError
from .identity import RunTable, Unshipped, write_checks

KIND_FLAGS = {
    "sync": 0,
    "async": inspect.CO_COROUTINE,
    "generator": inspect.CO_GENERATOR,
    "async generator": inspect.CO_ASYNC_GENERATOR,
}


_GIVEN: Final = (
    "body", "type", "id", "len", "find", "runs", "own", "run", "line", "had", "name", "HookBlocked",
    "blocked", "outwards",
)  # fmt: skip

_MRO: Final = "{id}({type}({first}).__mro__)"
REST: Final = "{body}({passed})"
CLASSES: Final = "({runs}(" + _MRO + ") or {find}({values}))({passed})"
BOTH: Final = "({own}({id}({first}), {runs})(" + _MRO + ") or {find}({values}))({passed})"
OWN: Final = "{body}({passed}) if {own}({id}({first})) is None else " + BOTH
EVERY: Final = "({runs}(0) or {find}({values}))({passed})"
EACH: Final = "{find}({values})({passed})"
"""The routes of a call: without receivers; with receivers of classes; with receivers of classes and
of single objects; with receivers of single objects only; without a first argument; and with a first
argument that has no name."""

OUT: Final = """\
try: {way}
except {HookBlocked} as {blocked}:
    {outwards}({blocked})
    raise"""
"""The route of a block: the exception leaves without this frame in its traceback. A bare `raise`
does not add a frame.
"""

_OUT: Final[dict[str, Any]] = {"HookBlocked": HookBlocked, "outwards": leave_frame}

HIDDEN: Final = {"__tracebackhide__": True, "__builtins__": builtins}
"""Globals of generated code: pytest leaves its frames out of tracebacks."""


class Shell:
    """Makes the function that replaces a hookable, and changes the route of its calls.

    The code of the function is one generated line. Without receivers, it calls the body. Otherwise,
    it looks up the function that runs the call. The replacement of a function's code is one atomic
    operation, so a call takes either the old route or the new route. For every kind of function,
    the code is a plain `def`, so that a call creates one coroutine or generator and not two. Only
    the flags of the code show the kind.

    The objects that the code needs are globals of the function, because the garbage collector does
    not see the constants of a code object.

    Attributes:
        function: the function that callers call.
        parameters: the parameters of the function.
    """

    def __init__(
        self, body: Callable[..., Any], signature: inspect.Signature, kind: str,
        first: str | None,
    ) -> None:  # fmt: skip
        self._body, self._kind, self._first = body, kind, first
        self.parameters = parameters = [*map(with_text, signature.parameters.values())]
        for parameter in parameters:
            if not parameter.name.isidentifier() or keyword.iskeyword(parameter.name):
                raise HookError(
                    f"{body!r} has a parameter named {parameter.name!r}, which is not a valid name"
                )
        self._declared, self._passed = declared(parameters), passed(parameters)
        self._values = f"({''.join([f'{p.name}, ' for p in parameters])})"
        self._codes: dict[tuple[bool, bool], CodeType] = Unshipped()
        taken = {p.name for p in parameters}
        self._names = {name: free_name(name, taken) for name in _GIVEN}
        # A class that attrs(slots=True) recreates repairs the `__class__` cell that zero-argument
        # super() reads, but only in functions that it finds in the class.
        free = getattr(getattr(body, "__code__", None), "co_freevars", ())
        held = zip(free, getattr(body, "__closure__", None) or ())
        cells = tuple(cell for name, cell in held if name == "__class__")
        self._free = ["__class__"] * len(cells)
        code = self.code(is_on=False, has_own=False)
        with_default = [p for p in parameters if p.default is not p.empty]
        named = {p.name: p.default for p in with_default if p.kind is p.KEYWORD_ONLY}
        defaults = tuple(p.default for p in with_default if p.kind is not p.KEYWORD_ONLY)
        given = {self._names["body"]: body, **HIDDEN}
        given |= {self._names[name]: each for name, each in _OUT.items()}
        self.function = FunctionType(code, given, body.__name__, defaults or None, cells)
        self.function.__kwdefaults__ = named
        functools.update_wrapper(self.function, body)

    def give(self, **given: Any) -> None:
        """Set the functions that the code calls: `find` with the values of all parameters, `runs`
        and `own` with ids. Each of them returns the function that runs a call. That function takes
        the arguments of the body.
        """
        # Set all of them, because a pickler that serializes a function by value includes only
        # globals that the current code reads.
        given = {"body": self._body, "type": type, "id": id, **_OUT, **given}
        self.function.__globals__.update({self._names[key]: given[key] for key in given})

    def state(self) -> tuple[RunTable, dict[int, Any], bool]:
        """Return the functions that run the calls of objects without receivers of their own, and of
        objects with such receivers, and whether the code is the one for receivers of classes and
        `ANY`.
        """
        given, names = self.function.__globals__, self._names
        own = given[names["own"]].__self__
        is_on = self.function.__code__ is self._codes.get((True, bool(own)))
        return given[names["runs"]].__self__, own, is_on

    def code(self, *, is_on: bool, has_own: bool) -> CodeType:
        """Return the code for the current receivers. `is_on` means receivers of classes and `ANY`,
        `has_own` means receivers of single objects.
        """
        code = self._codes.get((is_on, has_own))
        if code is None:
            way = EVERY
            if not (is_on or has_own):
                way = REST
            elif self._first:
                way = CLASSES if not has_own else BOTH if is_on else OWN
            elif self._first == "" and any(p.kind is p.VAR_POSITIONAL for p in self.parameters):
                way = EACH
            # Hookables with the same parameters share the compiled text.
            made = compiled(self._text(way, self._free))
            for _ in ("make", "forward"):
                made = made.co_consts[[*map(type, made.co_consts)].index(CodeType)]
            code = self._codes[is_on, has_own] = made.replace(
                co_flags=made.co_flags | KIND_FLAGS[self._kind],
                co_name=self._body.__name__, co_qualname=self._body.__qualname__,
            )
        return code

    def by_class(self, runs: Callable[[int], Any]) -> Callable[..., Any]:
        """Return a function that runs the calls whose first argument is a class. `runs` looks up
        the function for the id of the class's MRO.
        """
        way = "({run}({id}({first}.__mro__)) or {find}({values}))({passed})"
        return self._forward(way, run=runs)

    def while_function(self, run: Callable[..., Any], first: Any) -> Callable[..., Any]:
        """Return a function that runs the calls to a function until a class of the first argument
        changes. After such a change, the function may be a method of that class.
        """
        checks, had = write_checks(self._body.__name__, first)
        way = "({run} if " + " and ".join(checks) + " else {find}({values}))({passed})"
        return self._forward(way, run=run, len=len, had=had, name=self._body.__name__)

    def _forward(self, way: str, **given: Any) -> Callable[..., Any]:
        find = self.function.__globals__[self._names["find"]]
        given = {"find": find, "id": id, "type": type, **_OUT, **given}
        names = {self._names[name]: value for name, value in given.items()}
        forward: Callable[..., Any] = maker(self._text(way, [*names]))(**names)
        return forward

    def _text(self, way: str, free: list[str]) -> str:
        """Generate a function that returns the expression `way`. The names in braces in `way` refer
        to given objects.
        """
        text = "return " + way.format(
            **self._names, values=self._values, passed=self._passed, first=self._first or ""
        )
        if self._kind == "sync":  # for other kinds, this frame has ended before the call begins
            text = OUT.format(way=text, **self._names)
        return "\n".join([
            f"def make({', '.join(free)}):",
            f"    def forward({self._declared}):",
            "        " + text.replace("\n", "\n        "),
            f"        {', '.join(free)}",
            "    return forward\n",
        ])  # fmt: skip


_texts: Final[dict[str, None]] = {}


def maker(source: str) -> Callable[..., Any]:
    """Compile a source, and return its function `make`. `make` takes objects, and returns a
    function with these objects in its closure. Equal sources are compiled only once.
    """
    namespace: dict[str, Any] = {**HIDDEN}
    exec(compiled(source), namespace)
    make: Callable[..., Any] = namespace["make"]
    return make


@functools.lru_cache(maxsize=1024)
def compiled(source: str) -> CodeType:
    """Compile a source, and register it for tracebacks and debuggers. Only the latest sources stay
    registered.
    """
    from zlib import crc32

    filename = f"<hookbus {crc32(source.encode()):08x}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    _texts[filename] = None
    for old in list(_texts)[:-1024]:
        _texts.pop(old, None)
        linecache.cache.pop(old, None)
    return compile(source, filename, "exec")


def with_text(parameter: Parameter) -> Parameter:
    """Return a parameter with its annotation as a string. An annotation may refer to classes and,
    since Python 3.14, to objects that cannot be pickled.
    """
    annotation = parameter.annotation
    if annotation is parameter.empty or type(annotation) is str:
        return parameter
    try:
        return parameter.replace(annotation=str(annotation))
    except Exception:  # a `__repr__` may run any code and raise
        return parameter.replace(annotation=parameter.empty)


def declared(parameters: list[Parameter], mark: Callable[[str], str] = str) -> str:
    """Generate a parameter list. Its defaults are placeholders. The function gets the real defaults
    later.
    """
    parts: list[str] = []
    kinds = [p.kind for p in parameters]
    for index, p in enumerate(parameters):
        is_first = p.VAR_POSITIONAL not in kinds and p.KEYWORD_ONLY not in kinds[:index]
        if p.kind is p.KEYWORD_ONLY and is_first:
            parts.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        parts.append(stars + mark(p.name) + ("" if p.default is p.empty else "=None"))
        if p.kind is p.POSITIONAL_ONLY and p.POSITIONAL_ONLY not in kinds[index + 1 :]:
            parts.append("/")
    return ", ".join(parts)


def passed(
    parameters: list[Parameter], mark: Callable[[str], str] = str,
    values: Mapping[str, str] = MappingProxyType({}),
) -> str:  # fmt: skip
    """Return the source code of the arguments of a call. Each argument is the parameter with its
    name, or the code in `values`.
    """
    forms: dict[Any, str] = {
        Parameter.VAR_POSITIONAL: "*{1}", Parameter.VAR_KEYWORD: "**{1}",
        Parameter.KEYWORD_ONLY: "{0}={1}",
    }  # fmt: skip
    marked = [(p, mark(p.name)) for p in parameters]
    return ", ".join([
        forms.get(p.kind, "{1}").format(name, values.get(p.name, name)) for p, name in marked
    ])  # fmt: skip


def free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
