"""The front door holds the promised names and nothing else, and opens quickly."""

import ast
import importlib
import re
import subprocess
import sys
import types
from functools import cache
from pathlib import Path

import pytest

import hookbus
from hookbus import events

PACKAGE = Path(hookbus.__file__).parent


def read(name):
    return (PACKAGE / name).read_text(encoding="utf-8")


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


FOLDERS = (
    "_advice", "_approval", "_background", "_callables", "_calls", "_checks", "_connections",
    "_contents", "_events", "_ground", "_hooks", "_marks", "_questions", "_views", "_waiting",
)  # fmt: skip
ROOMS = ("adapters", "approvals", "exporters", "fleet", "guards", "journal")
GUESTS = (*ROOMS, "demo", "gate", "page", "_cli", "cli.py", "_pytest.py")
CORE = sorted([
    *(path for path in PACKAGE.glob("*.py") if path.name not in GUESTS),
    *(path for folder in FOLDERS for path in (PACKAGE / folder).glob("*.py")),
])  # fmt: skip


def test_the_public_names_are_these():
    names = set(dir(hookbus))
    modules = {name for name in names if isinstance(getattr(hookbus, name), types.ModuleType)}
    assert names - modules == {
        "ANY", "Ask", "Block", "Bus", "CallNext", "Connection", "Drop", "HookBlocked",
        "HookContext", "HookError", "HookSignal", "ReceiverError", "Replace", "default_bus",
        "explain", "hook_overrides", "hookable", "hookspec", "instrument", "load_plugins",
        "receives", "report", "signal", "baggage",
    }  # fmt: skip
    assert modules == {"events", "exceptions", "modes"}


PUBLIC_MODULES = (
    "hookbus", "hookbus.adapters", "hookbus.adapters.kit", "hookbus.approvals", "hookbus.cli",
    "hookbus.demo",
    "hookbus.events", "hookbus.exceptions", "hookbus.exporters", "hookbus.exporters.chrome",
    "hookbus.exporters.jsonl", "hookbus.exporters.log", "hookbus.exporters.otel", "hookbus.fleet",
    "hookbus.gate",
    "hookbus.guards",
    "hookbus.journal", "hookbus.modes", "hookbus.modes.rules", "hookbus.page", "hookbus.plugins",
    "hookbus.testing",
)  # fmt: skip


def module_of(name):
    if name == "hookbus.modes.rules":
        return hookbus.modes.rules
    if name == "hookbus.exporters.otel":
        pytest.importorskip("opentelemetry")
    return importlib.import_module(name)


def test_every_module_without_an_underscore_is_a_public_module():
    found = {path.stem for path in PACKAGE.glob("[a-z]*.py")}
    found |= {path.parent.name for path in PACKAGE.glob("[a-z]*/__init__.py")}
    assert {f"hookbus.{name}" for name in found} <= {*PUBLIC_MODULES}


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_a_public_module_shows_the_names_of_its_all_and_no_others_and_each_exists(name):
    module = module_of(name)
    assert [each for each in dir(module) if not each.startswith("_")] == sorted(module.__all__)
    assert len({*module.__all__}) == len(module.__all__)
    for each in module.__all__ if name != "hookbus.adapters" else ():
        if f"{name}.{each}" != "hookbus.exporters.otel":
            assert getattr(module, each) is not None


def names_used_in(path):
    """Return the names that a file uses, each with the module that it comes from."""
    tree, known, used = ast.parse(path.read_text()), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.name: alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            known |= {alias.name: f"{node.module}.{alias.name}" for alias in node.names}

    def full(node):
        if isinstance(node, ast.Attribute):
            return f"{full(node.value)}.{node.attr}"
        return known.get(node.id, "") if isinstance(node, ast.Name) else ""

    for node in ast.walk(tree):
        used.add(full(node))
    return used


@cache
def names_used():
    """Return the names that tests/typing uses."""
    files = sorted((Path(__file__).parent / "typing").glob("*.py"))
    return set().union(*map(names_used_in, files))


@pytest.mark.parametrize("name", sorted({*PUBLIC_MODULES} - {"hookbus.demo"}))
def test_the_type_checkers_see_each_public_name_in_use(name):
    names = {f"{name}.{each}" for each in module_of(name).__all__}
    assert names - names_used() == set()


def test_what_is_not_public_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'hokable'"):
        hookbus.hokable  # noqa: B018


def loaded_by(names):
    """Return the modules there are once these are imported."""
    program = f"import sys, {names}; print(*sys.modules)"
    run = [sys.executable, "-c", program]
    return {*subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()}


def test_importing_hookbus_imports_no_asyncio_no_framework_and_no_command_line():
    loaded, known = loaded_by("hookbus"), loaded_by("blinker, attrs")
    heavy = {"asyncio", "rich", "cyclopts", "pytest", "agentdojo", "pydantic"}
    assert not heavy & (loaded - known)
    assert "hookbus.plugins" not in loaded


def test_the_first_connection_loads_the_checks_and_the_first_setting_of_an_operator_the_switches():
    hook = "hookbus.hookable('reply')(lambda message: message)"
    guard = "hookbus.signal('pre_reply').connect(lambda sender: None, role='guard', name='no_keys')"
    off = "hookbus.default_bus.switch('no_keys', 'disable', by='ops')"
    parts = {"hookbus._checks.checks", "hookbus._program.operator"}
    assert not parts & loaded_by(f"hookbus; {hook}")
    assert parts & loaded_by(f"hookbus; {guard}") == {"hookbus._checks.checks"}
    assert parts <= loaded_by(f"hookbus; {guard}; {off}")


def test_approvals_are_loaded_with_the_first_approver_and_the_background_with_its_first_observer():
    program = """if True:
        import sys, hookbus
        from hookbus import Ask, default_bus, signal

        def loaded():
            wings = "_approval", "_background"
            return [name for name in wings if f"hookbus.{name}" in sys.modules]

        pay = hookbus.hookable("pay")(lambda sum: sum)
        ask = lambda sender, sum: Ask("Pay?") if sum > 9 else None
        signal("pre_pay").connect(ask, role="guard")
        print(pay(1), loaded())
        try:
            pay(10)
        except hookbus.HookBlocked:
            print("blocked", loaded())
        default_bus.approver(lambda request: None)
        print(loaded())
        signal("post_pay").connect(lambda sender: None, role="observe", background=True)
        print(pay(1), loaded())
    """
    run = [sys.executable, "-c", program]
    out = subprocess.run(run, capture_output=True, text=True, check=True)
    assert out.stdout.splitlines() == [
        "1 []", "blocked []", "['_approval']", "1 ['_approval', '_background']",
    ]  # fmt: skip


def test_a_first_hooked_call_loads_neither_asyncio_nor_futures_nor_logging():
    program = """if True:
        import sys, blinker, attrs
        known = set(sys.modules)
        import hookbus
        reply = hookbus.hookable("reply")(lambda message: message)
        hookbus.signal("pre_reply").connect(lambda sender, message: None)
        heavy = {"asyncio", "concurrent", "logging"} & (set(sys.modules) - known)
        print(reply("hi"), "hookbus._calls.writer" in sys.modules, heavy)
    """
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert said == "hi True set()\n"


def test_no_module_and_no_function_is_too_large():
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    too_large = []
    for path in sorted(PACKAGE.rglob("*.py")):
        too_large += [path] if len(path.read_text().splitlines()) > 310 else []
        for node in ast.walk(tree_of(path)):
            if isinstance(node, functions):
                first = node.body[int(ast.get_docstring(node) is not None) :] or node.body
                head = node.body[0].lineno - node.lineno
                lines = head + node.end_lineno - first[0].lineno + 1
                too_large += [f"{path}: {node.name}"] if lines > 45 else []
    assert too_large == []


def banned_in(path):
    """Yield asserts for checks, `send` for decisions, and exceptions that are swallowed."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Assert):
            yield f"{path}:{node.lineno} asserts"
        if isinstance(node, ast.ExceptHandler):
            is_broad = node.type is None or getattr(node.type, "id", "") == "BaseException"
            is_silent = all(isinstance(inner, (ast.Pass, ast.Continue)) for inner in node.body)
            if is_silent and (is_broad or getattr(node.type, "id", "") == "Exception"):
                yield f"{path}:{node.lineno} swallows an exception"
            raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            if is_broad and node.name is None and not raises:
                yield f"{path}:{node.lineno} loses a BaseException"
        sends = isinstance(node, ast.Attribute) and node.attr == "send_async"
        if sends and path.name != "sending.py":
            yield f"{path}:{node.lineno} sends"


def test_the_core_bans_what_its_promises_ban(tmp_path):
    assert [found for path in CORE for found in banned_in(path)] == []
    path = tmp_path / "core.py"
    path.write_text("assert x\ntry: x.send_async()\nexcept Exception: pass\nexcept: x\n")
    assert [found.partition(" ")[2] for found in sorted(banned_in(path))] == [
        "asserts", "sends", "swallows an exception", "loses a BaseException",
    ]  # fmt: skip


def test_texts_become_code_in_the_shell_only():
    makers = {}
    for path in CORE:
        calls = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
        found = {getattr(call.func, "id", "") for call in calls} & {"exec", "eval", "compile"}
        if found:
            makers[str(path.relative_to(PACKAGE))] = found
    assert makers == {"_hooks/shell.py": {"exec", "compile"}}


def test_only_guests_come_in_by_the_front_door():
    """Whoever lives in the house would otherwise have to be loaded before the house is."""
    names = {*hookbus.__all__} - {"events", "exceptions", "modes"}
    for path in sorted(PACKAGE.rglob("*.py")):
        own = path.relative_to(PACKAGE)
        if own.parts[0] in GUESTS or own.name == "__init__.py":
            continue
        doors = [
            node.lineno
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.ImportFrom)
            and node.level == len(own.parts)
            and node.module is None
            and {alias.name for alias in node.names} & names
        ]
        assert not doors, f"{own}:{doors}"


def strangers_in(path):
    """Yield the imports of private names of hookbus, and the frameworks and libraries that a module
    imports outside its functions.
    """
    tree = tree_of(path)
    for node in ast.walk(tree):
        module = node.module if isinstance(node, ast.ImportFrom) and node.level == 0 else None
        if module is not None and module.split(".")[0] == "hookbus":
            names = [module, *(alias.name for alias in node.names)]
            if any(part.startswith("_") for name in names for part in name.split(".")):
                yield f"{path}:{node.lineno} is private"
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "level", 0) == 0:
            name = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            known = {"hookbus", "blinker", "attrs", *sys.stdlib_module_names}
            if name.partition(".")[0] not in known:
                yield f"{path}:{node.lineno} is loaded early"


def test_guests_use_public_names_only_and_load_their_framework_late(tmp_path):
    """A guest imports from the front door and the public modules; the rest inside functions."""
    paths = sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py"))
    assert len(paths) > 200
    assert [found for path in paths for found in strangers_in(path)] == []
    path = tmp_path / "guest.py"
    path.write_text("from hookbus._calls import plan\nimport agno.agent\nimport attrs, sys\n")
    assert list(strangers_in(path)) == [f"{path}:1 is private", f"{path}:2 is loaded early"]


def test_the_head_of_the_story_says_what_every_condition_in_it_means():
    head, _, texts = read("_calls/story.txt").partition("\n== ")
    said = {
        name for names in re.findall(r"^- ([\w, ]+): ", head, re.M) for name in names.split(", ")
    }
    others = read("_calls/writer.py"), read("_questions/writer.py")
    used = {word.lstrip("!") for words in re.findall(r"#\? ([\w! ]+)", "".join((texts, *others)))
            for word in words.split()}  # fmt: skip
    assert said == used


def test_every_event_can_be_chosen():
    kinds = {each for each in vars(events).values() if isinstance(each, type)}
    assert {each for each in kinds if issubclass(each, events.Event)} == {
        events.Event,
        *events.KINDS,
    }
