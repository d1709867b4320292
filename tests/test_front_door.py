"""The front door holds the promised names and nothing else, and opens quickly."""

import ast
import importlib
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import hookbus
from hookbus import events

PACKAGE = Path(hookbus.__file__).parent


def read(name):
    return (PACKAGE / name).read_text(encoding="utf-8")


FOLDERS = (
    "_approval", "_background", "_callables", "_calls", "_checks", "_connections", "_contents",
    "_events", "_ground", "_hooks", "_marks", "_questions", "_views", "_waiting",
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
def test_a_public_module_shows_the_names_of_its_all_and_no_others(name):
    module = module_of(name)
    assert [each for each in dir(module) if not each.startswith("_")] == sorted(module.__all__)
    assert len({*module.__all__}) == len(module.__all__)


@pytest.mark.parametrize("name", sorted({*PUBLIC_MODULES} - {"hookbus.adapters"}))
def test_each_name_of_a_public_module_exists(name):
    module = module_of(name)
    for each in module.__all__:
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


@pytest.mark.parametrize("name", sorted({*PUBLIC_MODULES} - {"hookbus.demo"}))
def test_the_type_checkers_see_each_public_name_in_use(name):
    files = sorted((Path(__file__).parent / "typing").glob("*.py"))
    used = set().union(*map(names_used_in, files))
    assert {each for each in module_of(name).__all__ if f"{name}.{each}" not in used} == set()


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
        print(reply("hi"), "hookbus._calls.runner" in sys.modules, heavy)
    """
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert said == "hi True set()\n"


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_room_is_too_large(path):
    source = path.read_text()
    assert len(source.splitlines()) <= 310
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, functions):
            first = node.body[int(ast.get_docstring(node) is not None) :] or node.body
            head = node.body[0].lineno - node.lineno
            lines = head + node.end_lineno - first[0].lineno + 1
            assert lines <= 45, f"{path.name}: {node.name}"


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_bans_what_its_promises_ban(path):
    """No assert for checks, no `send` for decisions, no swallowed BaseException, no logging of
    arguments.
    """
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Assert), f"{path.name}:{node.lineno} asserts"
        if isinstance(node, ast.ExceptHandler):
            is_broad = node.type is None or getattr(node.type, "id", "") == "BaseException"
            is_silent = all(isinstance(inner, (ast.Pass, ast.Continue)) for inner in node.body)
            is_vague = is_broad or getattr(node.type, "id", "") == "Exception"
            assert not (is_silent and is_vague), f"{path.name}:{node.lineno} swallows"
            carries = node.name is not None or any(
                isinstance(inner, ast.Raise) for inner in ast.walk(node)
            )
            assert not is_broad or carries, f"{path.name}:{node.lineno} loses a BaseException"
        if isinstance(node, ast.Attribute) and path.name != "sending.py":
            assert node.attr not in ("send_async",), f"{path.name}:{node.lineno}"


def test_texts_become_code_in_the_shell_only():
    makers = {}
    for path in CORE:
        calls = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        ]
        found = {getattr(call.func, "id", "") for call in calls} & {
            "exec", "eval", "compile",
        }  # fmt: skip
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
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom)
            and node.level == len(own.parts)
            and node.module is None
            and {alias.name for alias in node.names} & names
        ]
        assert not doors, f"{own}:{doors}"


@pytest.mark.parametrize(
    "path",
    sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")),
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_guests_use_public_names_only_and_load_their_framework_late(path):
    """A guest imports from the front door and the public modules.

    From its framework, or a library, only inside functions.
    """
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        module = node.module if isinstance(node, ast.ImportFrom) and node.level == 0 else None
        if module is not None and module.split(".")[0] == "hookbus":
            names = [module, *(alias.name for alias in node.names)]
            assert not any(part.startswith("_") for name in names for part in name.split(".")), (
                f"{path.name}:{node.lineno}"
            )
    early = [
        node
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "level", 0) == 0
    ]
    loaded = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in early
    }
    assert loaded <= {"hookbus", "blinker", "attrs", *sys.stdlib_module_names}


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
