"""What adapters share: the right version, attributes replaced and put back, on a package made for
the purpose."""

import json
import json.decoder
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import hookbus
from hookbus import Block, Bus, HookBlocked, HookError, adapters
from hookbus.adapters.__main__ import SEAMS, main, rows
from hookbus.adapters._patches import Between, Patches, require_version
from hookbus.adapters._tools import Gate, ToolCall
from hookbus.adapters._vocabulary import Attempt
from hookbus.exceptions import HookWarning


class Theirs:
    def method(self):
        return "theirs"

    @classmethod
    def of(cls):
        return cls


PYTEST = metadata.version("pytest")


def test_hookbus_adapters_names_what_there_is_and_loads_nothing():
    program = (
        "import sys, hookbus.adapters as a; before = set(sys.modules); print(*dir(a)); "
        "print(sorted(set(sys.modules) - before), sorted(n for n in sys.modules if "
        "n.startswith('hookbus.adapters.')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    names, loaded = ran.stdout.splitlines()
    assert names.split() == hookbus.adapters.__all__
    assert loaded == "[] []"


def test_an_adapter_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(AttributeError, match="no adapter 'agentskope'; available: .*agentscope"):
        hookbus.adapters.agentskope  # noqa: B018


def test_restore_puts_back_what_was_there_and_takes_away_what_was_not():
    before = list(vars(Theirs).items())
    with Patches("pytest", PYTEST) as patches:
        patches.replace(Theirs, "method", lambda self: "ours")
        patches.replace(Theirs, "of", classmethod(lambda cls: "ours"))
        patches.replace(Theirs, "added", 1)
    assert (Theirs().method(), Theirs.of(), Theirs.added, patches.is_live) == (
        "ours", "ours", 1, True,
    )  # fmt: skip
    patches.restore()
    patches.restore()
    assert list(vars(Theirs).items()) == before and not patches.is_live


def test_an_exception_while_installing_takes_everything_back():
    before = list(vars(Theirs).items())
    undone = []
    with pytest.raises(ZeroDivisionError), Patches("pytest", PYTEST) as patches:
        patches.replace(Theirs, "method", None)
        patches.on_restore(lambda: undone.append(vars(Theirs)["method"]))
        1 / 0
    assert list(vars(Theirs).items()) == before
    assert undone == [None]


def test_a_function_is_wrapped_wherever_it_was_imported_by_name():
    stock = json.decoder.JSONDecoder
    assert json.JSONDecoder is stock  # json has imported it
    with Patches("pytest", PYTEST) as patches:
        patches.wrap_function(json.decoder, "JSONDecoder", lambda stock: ("wrapped", stock))
        places = json.decoder.JSONDecoder, json.JSONDecoder
    patches.restore()
    assert places == (("wrapped", stock), ("wrapped", stock))
    assert json.decoder.JSONDecoder is json.JSONDecoder is stock


def test_a_function_is_wrapped_outside_of_its_package_too_under_whatever_name(monkeypatch):
    stock, here = json.decoder.JSONDecoder, sys.modules[__name__]
    monkeypatch.setattr(here, "reads", stock, raising=False)
    with Patches("pytest", PYTEST) as patches:
        patches.wrap_function(json.decoder, "JSONDecoder", lambda stock: 1, also_outside=True)
        places = json.decoder.JSONDecoder, json.JSONDecoder, here.reads
    patches.restore()
    assert places == (1, 1, 1) and here.reads is json.JSONDecoder is stock


def test_a_name_that_a_version_has_not_any_more_is_named_and_nothing_is_changed():
    before = list(vars(Theirs).items())
    with (
        pytest.raises(HookError, match="pytest no longer has json.gone, which this adapter"),
        Patches("pytest", PYTEST) as patches,
    ):
        patches.replace(Theirs, "method", None)
        patches.wrap_function(json, "gone", lambda stock: stock)
    assert list(vars(Theirs).items()) == before


def test_what_somebody_else_has_put_in_front_since_stays_and_is_told():
    original = Theirs.method
    with Patches("pytest", PYTEST) as patches:
        patches.replace(Theirs, "method", lambda self: "ours")
    theirs = Theirs.method = lambda self: "somebody else's"
    try:
        with pytest.warns(HookWarning, match=r"Theirs\.method was replaced after hookbus replaced"):
            patches.restore()
        assert Theirs.method is theirs
    finally:
        Theirs.method = original


def test_a_package_is_taken_over_once_at_a_time():
    with (
        Patches("pytest", PYTEST) as first,
        pytest.raises(HookError, match="pytest already runs on hookbus"),
    ):
        with Patches("pytest", PYTEST):
            pytest.fail("twice")
    first.restore()
    with Patches("pytest", PYTEST) as second:
        pass
    second.restore()


def test_a_version_that_is_not_supported_is_refused_with_the_supported_ones(monkeypatch):
    monkeypatch.setattr(metadata, "distributions", list)
    with pytest.raises(
        HookError,
        match=r"pytest .* is installed, and this adapter supports 1\.2\.3 or 1\.2\.4: pip install",
    ):
        require_version("pytest", "1.2.3", "1.2.4")
    with pytest.raises(
        HookError, match=r"no-such-package is not installed; this adapter supports 1\.0"
    ):
        require_version("no-such-package", "1.0")
    assert require_version("pytest", PYTEST) == PYTEST


def advised(monkeypatch, *requirements, supported=(Between("1.2.0", "1.4.7"),)):
    """Return what is advised where a package requires this of pytest."""

    class Other:
        name, version, requires = "pytest-shop", "2.0", requirements

    monkeypatch.setattr(metadata, "distributions", lambda: [Other])
    with pytest.raises(HookError) as refused:
        require_version("pytest", *supported)
    known = " or ".join(map(str, supported))
    said = f"pytest {PYTEST} is installed, and this adapter supports {known}: "
    assert str(refused.value).startswith(said)
    return str(refused.value).removeprefix(said)


def test_what_to_install_is_a_range_that_suits_who_else_requires_the_package(monkeypatch):
    wants = ("pytest>=1.3; python_version>'3'", "pytest-xdist", "pytest<2; extra == 'old'")
    assert advised(monkeypatch, *wants) == (
        "pip install 'pytest>=1.3,<1.5' (pytest-shop 2.0 requires pytest>=1.3)"
    )


@pytest.mark.parametrize(
    ("wants", "found"),
    [
        ("pytest<1.4", ">=1.2.0,<1.4.0"), ("pytest<=1.4.2", ">=1.2.0,<1.4.3"),
        ("pytest>1.3.1", ">=1.3.2,<1.5"), ("pytest~=1.3", ">=1.3,<1.5"),
        ("pytest~=1.3.1", ">=1.3.1,<1.4.0"), ("pytest==1.3.*", ">=1.3.0,<1.4.0"),
        ("pytest==1.4.1", ">=1.4.1,<1.4.2"), ("pytest!=1.3.0", ">=1.2.0,<1.5,!=1.3.0"),
        ("pytest (>=1.3,<2)", ">=1.3,<1.5"), ("pytest", ">=1.2.0,<1.5"),
    ],
)  # fmt: skip
def test_every_kind_of_requirement_narrows_what_is_advised(monkeypatch, wants, found):
    assert f"pip install 'pytest{found}'" in advised(monkeypatch, wants)


@pytest.mark.parametrize("wants", ["pytest>=9", "pytest<1", "pytest==1.5.0", "pytest~=2.1"])
def test_no_version_is_advised_that_contradicts_what_others_require(monkeypatch, wants):
    assert advised(monkeypatch, wants) == (
        f"no supported version fits the installed packages (pytest-shop 2.0 requires {wants}); "
        "look for a newer hookbus, or change these packages together"
    )


def test_of_several_supported_versions_the_one_that_suits_is_advised(monkeypatch):
    wants = "pytest<3"
    found = advised(monkeypatch, wants, supported=("2.9.0", "3.1.10"))
    assert found == "pip install 'pytest==2.9.0' (pytest-shop 2.0 requires pytest<3)"


def test_where_the_package_needs_another_python_no_version_is_advised(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 11, 7, "final", 0))
    with pytest.raises(HookError, match=r"it needs Python 3\.12 or newer, and this is 3\.11"):
        require_version("bub", "0.5.1")


# -- agent frameworks ------------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent
SEEDS = {"agenticx", "agentscope", "agno", "bub", "openclaw"}


def test_every_adapter_of_an_agent_framework_says_where_it_hooks_and_what_fits():
    assert {*SEAMS} == {*adapters.__all__} - SEEDS
    for name, seam in SEAMS.items():
        home = ROOT / "hookbus" / "adapters" / name
        texts = [path.read_text() for path in (home.with_suffix(".py"), *home.glob("*.py"))
                 if path.exists()]  # fmt: skip
        assert f'"{seam.package}"' in "".join(texts), name


def test_the_page_of_frameworks_has_the_table_that_the_command_prints(capsys):
    page = (ROOT / "docs" / "how-to" / "under-your-framework.md").read_text()
    for name, package, versions, _, hooks, tools in rows():
        said = ", ".join(f"`{hook}`" for hook in hooks.split())
        assert f"| `{name}` | {package} {versions} | {said} | `{tools}` |" in page
    main()
    assert len(capsys.readouterr().out.splitlines()) == len(SEAMS) + 1


WORDS = ("tool_call", "model_call", "agent_run")


@pytest.fixture
def gate():
    with Patches("pluggy", metadata.version("pluggy")) as patches:
        yield Gate(patches, bus := Bus(), words=WORDS), bus
    patches.restore()


def test_a_receiver_of_a_tool_may_call_its_sender_agent(gate):
    gate, bus = gate
    tool, seen = object(), []

    @bus.signal("pre_tool_call").connect_via(role="guard")
    def guard(agent, name, arguments):
        seen.append((agent, name))
        return Block("not to eve") if arguments["to"] == "eve" else None

    @bus.signal("pre_tool_call").connect_via(role="observe")
    def look(sender, caller):
        seen.append(caller)

    def pay(to):
        call = ToolCall("pay", {"to": to}, tool=tool, caller="clerk")
        return gate.run(call, lambda arguments: f"paid {arguments['to']}")

    assert pay("ann") == "paid ann"
    with pytest.raises(HookBlocked, match="not to eve"):
        pay("eve")
    assert seen == [(tool, "pay"), "clerk", (tool, "pay")]


def test_a_receiver_of_a_run_gets_its_agent_as_the_sender(gate):
    gate, bus = gate
    agent, seen = set[str](), []
    bus.signal("pre_agent_run").connect(lambda agent, input: seen.append((agent, input)), agent)
    run = Attempt(lambda input: f"did {input}")
    assert gate.vocabulary.run("agent_run", run, agent, "work") == "did work"
    assert seen == [(agent, "work")]
