"""Every public name says what it is, what goes in, what comes out, and what it raises: the API page
is made from that.
"""

import ast
import inspect
import re
import textwrap
import types

import attrs

import hookbus
from hookbus import adapters, events, exceptions, modes, plugins, testing
from hookbus._connections import sending
from hookbus._questions import protocols
from hookbus._views import explain, report
from hookbus.adapters import kit

MODULES = (events, exceptions, kit, modes, testing)
OTHERS = (
    sending.Sending,
    *(protocols.Hookspec, protocols.AsyncHookspec, protocols.Connects),
    *(explain.Explanation, explain.Row, report.Report),
    *(getattr(plugins, name) for name in plugins.__all__),
    *(getattr(adapters.openclaw, name) for name in adapters.openclaw.__all__),
)


def of_module(module):
    return [getattr(module, name) for name in module.__all__]


def members(cls):
    """Return the public methods and properties of a class that are its own."""
    found = [value for name, value in vars(cls).items() if not name.startswith("_")]
    functions = [
        getattr(value, "fget", None) or getattr(value, "__func__", value) for value in found
    ]
    return [function for function in functions if inspect.isfunction(function)]


def public():
    """Return every public function, and every class with its methods: name, object, and the class
    it belongs to.
    """
    front = [getattr(hookbus, name) for name in hookbus.__all__]
    installs = [
        getattr(adapters, name).install
        for name in adapters.__all__
        if hasattr(getattr(adapters, name), "install")
    ]
    objects = [
        *front, *(each for module in MODULES for each in of_module(module)), *OTHERS, *installs,
    ]  # fmt: skip
    for each in {
        id(each): each for each in objects if isinstance(each, (type, types.FunctionType))
    }.values():
        yield each.__qualname__, each, None
        for member in members(each) if isinstance(each, type) else ():
            yield member.__qualname__, member, each


PUBLIC = list(public())


def raised(function):
    """Return the exceptions a function raises itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [
        node.exc
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    ]
    return {ast.unparse(call.func) for call in calls}


def untold(each, cls):
    """Return what a docstring leaves out: fields, parameters, exceptions."""
    said = f"{each.__doc__ or ''}\n{cls.__doc__ if cls else ''}"
    if isinstance(each, type):
        wanted = (
            {field.name for field in attrs.fields(each) if not field.name.startswith("_")}
            if attrs.has(each)
            else set()
        )
        return {name for name in wanted if not re.search(rf"\b{name}\b", told_by(each))}
    parameters = list(inspect.signature(each).parameters.values())[1 if cls else 0 :]
    if re.search(r"those of\s+`\S+`", said):
        parameters = [one for one in parameters if one.kind is not one.KEYWORD_ONLY]
    names = {one.name for one in parameters if not one.name.startswith("_")}
    missing = {name for name in names if not re.search(rf"\b{name.rstrip('s')}s?\b", said)}
    return missing | {error for error in raised(each) if error not in said}


def told_by(cls):
    return "\n".join(
        base.__doc__ or "" for base in cls.__mro__ if base.__module__.startswith("hookbus")
    )


def test_a_public_name_says_what_goes_in_comes_out_and_is_raised():
    assert [name for name, each, _ in PUBLIC if not inspect.getdoc(each)] == []
    missing = {name: untold(each, cls) for name, each, cls in PUBLIC}
    assert {name: words for name, words in missing.items() if words} == {}


def test_what_a_docstring_leaves_out_is_found():
    def function(one, two):
        """Take one."""
        raise ValueError("two")

    assert untold(function, None) == {"two", "ValueError"}
    wanted = {"hookable", "HookSignal.connect", "Bus.require_guard", "merge", "Recording.exactly"}
    assert wanted <= {
        name for name, *_ in PUBLIC
    }
