"""A framework that is newer than its adapter was tested with: it is asked for its seams and called
on a private bus first. The framework is made for the purpose, under the version of pytest."""

import asyncio
import json
import sys
import threading
import types
import warnings
from importlib import metadata

import pytest

from hookbus import Block, Bus, HookError, hookable
from hookbus._checks import frameworks
from hookbus._cli.doctor import doctor
from hookbus._cli.screen import Shown
from hookbus.adapters import __main__ as adapters_main
from hookbus.adapters import _newer
from hookbus.adapters._newer import in_place_of, patches_of
from hookbus.adapters._patches import Between, InPlace, Patches, packages_on_hookbus
from hookbus.adapters._seams import Sample, _frame
from hookbus.adapters._tools import Gate, Results, ToolCall
from hookbus.exceptions import HookWarning

TESTED = Between("1.0.0", "1.2.0")


class Base:
    """What the framework's tools have of their parent."""

    def inherited(self):
        return None


class Tool(Base):
    """A tool of the framework. A program runs it; `arun` is for who awaits."""

    def __init__(self, name, body):
        self.name, self.body = name, body

    def run(self, amount, to):
        return self.body(amount, to)

    async def arun(self, amount, to, tag=None):
        await asyncio.sleep(0)
        return self.body(amount, to)


SEAMS = f"""
{__name__}:Tool.run(self, amount, to)
async {__name__}:Tool.arun(self,
    amount, to)
no_such_package.tools:Optional.run(self)
"""


def sample(pay):
    tool = Tool(_frame.NAME, pay)

    async def arun(amount, to):
        return await tool.arun(amount, to)

    return Sample({"Tool.run": tool.run, "Tool.arun": arun}, Shop.refused)


class Shop:
    """What the module of an adapter has."""

    refused = staticmethod(lambda given: given if isinstance(given, str) else "")


def read(stock, tool, amount, to, *more):
    call = ToolCall(tool.name, {"amount": amount, "to": to}, None, "function", tool)
    return call, lambda changed: stock(tool, changed["amount"], changed["to"], *more)


def install(bus, *, supported=TESTED, **options):
    with patches_of("shop", "pytest", supported, options.get("untested", "check"), install) as made:
        gate = Gate(made, bus, Results(refused=lambda refused: refused.text))
        gate.seam(Tool, "run", read)
        gate.seam(Tool, "arun", read)
    return made.restore


@pytest.fixture(autouse=True)
def shop(monkeypatch):
    home = types.ModuleType("hookbus.adapters._seams.shop")
    home.SEAMS, home.sample = SEAMS, sample
    monkeypatch.setitem(sys.modules, home.__name__, home)
    monkeypatch.setattr(_newer, "_ANSWERED", set())
    monkeypatch.setattr(InPlace, "_in_place", set())
    return home


def refusal_of_install(**options):
    before = dict(vars(Tool))
    with pytest.raises(HookError) as refused:
        install(Bus(), **options)
    assert dict(vars(Tool)) == before and not Patches.is_in_force("pytest")
    return str(refused.value)


def test_a_newer_release_whose_seams_answer_installs_with_a_warning():
    bus, paid = Bus(), []
    bus.signal("pre_tool_call").connect(lambda sender: Block("no"), role="guard", weak=False)
    with pytest.warns(HookWarning) as told:
        uninstall = install(bus)
    version = metadata.version("pytest")
    assert [str(each.message) for each in told] == [
        f"pytest {version} is newer than tested; its self-test passed (the adapter shop was tested "
        "with 1.0.0 to 1.2.0)"
    ]
    assert "blocked by" in Tool("pay", lambda *given: paid.append(given)).run(1, "ann")
    uninstall()
    Tool("pay", lambda *given: paid.append(given)).run(1, "ann")
    assert paid == [(1, "ann")]


def test_no_guard_of_the_program_is_called_by_the_self_test():
    bus, asked = Bus(), []
    bus.signal("pre_tool_call").connect(lambda sender: asked.append(1), role="guard", weak=False)
    with pytest.warns(HookWarning):
        install(bus)()
    assert asked == []


def test_a_call_that_the_program_makes_meanwhile_is_not_what_the_self_test_blocks(shop):
    others = []

    def sample_beside_a_program(pay):
        made, program = sample(pay), Tool("pay", lambda amount, to: f"paid {to}")

        def run(amount, to):
            others.append(program.run(amount, "eve"))
            return made.ways["Tool.run"](amount, to)

        return made._replace(ways={**made.ways, "Tool.run": run})

    shop.sample = sample_beside_a_program
    with pytest.warns(HookWarning):
        install(Bus())()
    assert len(others) == 4 and {*others} == {"paid eve"}


def test_a_patch_release_is_tested_without_a_warning_and_a_tested_one_is_not(shop):
    major, minor, patch = map(int, metadata.version("pytest").split(".")[:3])
    older = Between("1.0.0", f"{major}.{minor}.{max(patch - 1, 0)}")
    same = Between("1.0.0", f"{major}.{minor}.{patch}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        install(Bus(), supported=older)()
        shop.SEAMS = f"{__name__}:Tool.gone()"
        install(Bus(), supported=same)()
    if patch:
        assert "Tool.gone is missing" in refusal_of_install(supported=older)


def test_a_release_below_the_tested_ones_is_refused_whatever_its_seams_say():
    told = refusal_of_install(supported=Between("99.0.0", "99.1.0"))
    assert "is installed, and this adapter supports 99.0.0 to 99.1.0" in told


def test_untested_releases_can_be_refused():
    assert "this adapter supports 1.0.0 to 1.2.0" in refusal_of_install(untested="refuse")
    assert "use 'check' or 'refuse'" in refusal_of_install(untested="allow")


@pytest.mark.parametrize(
    ("seam", "told"),
    [
        ("Tool.walk(self)", "Tool.walk is missing"),
        ("Tool.inherited(self)", "Tool.inherited is missing"),
        ("Tool.run(self, price, to)", "Tool.run no longer has the parameter price"),
        ("Tool.run(self, to, amount)", "Tool.run takes its parameters in another order"),
        ("Tool.run(self, amount)", "Tool.run requires a new parameter: to"),
        ("Tool.arun(self, amount, to)", "Tool.arun is an async function"),
    ],
)
def test_a_seam_that_is_not_as_it_was_is_named(shop, seam, told):
    shop.SEAMS = f"{__name__}:{seam}"
    message = refusal_of_install()
    assert "is newer than tested (1.0.0 to 1.2.0), and the self-test of the adapter shop" in message
    assert told in message


def test_a_module_of_the_framework_that_is_gone_is_named(shop):
    shop.SEAMS = "hookbus.no_such_module:Tool.run()"
    assert "hookbus.no_such_module:Tool.run cannot be imported" in refusal_of_install()


@pytest.mark.parametrize("way", ["Tool.run", "Tool.arun"])
def test_a_call_that_goes_past_the_seam_is_found(monkeypatch, way):
    stock = Gate.seam


    def seam(gate, cls, name, *args):
        if f"Tool.{name}" != way:
            stock(gate, cls, name, *args)

    monkeypatch.setattr(Gate, "seam", seam)
    told = refusal_of_install()
    assert f"{way} entered the body of a tool that a guard had blocked" in told


def test_a_refusal_in_another_shape_than_the_frameworks_own_is_found(monkeypatch):
    monkeypatch.setattr(Shop, "refused", _frame.raised_text)
    assert "Tool.run returned 'Error" in refusal_of_install()


def test_changed_arguments_that_do_not_arrive_are_found(monkeypatch):
    call_of = read

    def deaf(stock, tool, amount, to, *more):
        call, _ = call_of(stock, tool, amount, to)
        return call, lambda changed: stock(tool, amount, to, *more)

    monkeypatch.setitem(globals(), "read", deaf)
    assert "Tool.run did not pass the changed arguments to the tool" in refusal_of_install()


def test_an_async_guard_that_is_not_awaited_is_found(monkeypatch):
    monkeypatch.setattr(_frame._Test, "_guard_async", lambda self, sender, ctx: None)
    told = refusal_of_install()
    assert "Tool.run entered the body of a tool that an async guard had blocked" in told


def test_a_self_test_that_hangs_ends(monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(_frame, "SECONDS", 0.2)
    monkeypatch.setattr(Tool, "run", lambda self, amount, to: released.wait(20))
    with pytest.raises(HookError, match="the self-test did not end within 0 seconds"):
        install(Bus())
    released.set()


def test_an_error_in_the_sample_is_told_with_its_cause(shop):
    shop.sample = lambda pay: {}["no"]
    with pytest.raises(HookError, match="sample tool could not be created: KeyError") as refused:
        install(Bus())
    assert isinstance(refused.value.__cause__, KeyError)


def test_what_is_put_in_place_is_tested_once_in_a_process(shop):
    def made():
        return in_place_of("shop", "pytest", TESTED, "check", install)

    with pytest.warns(HookWarning, match="newer than tested") as told:
        assert made().is_live
        shop.SEAMS = f"{__name__}:Tool.gone()"
        assert made().is_live
    assert len(told) == 1
    assert "pytest" in packages_on_hookbus()


def test_the_table_says_what_came_of_it(shop, monkeypatch):
    adapter = types.SimpleNamespace(install=install)
    monkeypatch.setitem(sys.modules, "hookbus.adapters.shop", adapter)
    state_of, version = adapters_main._state, metadata.version("pytest")
    assert state_of("shop", "pytest", (TESTED,)) == f"{version}: untested, self-test passed"
    shop.SEAMS = f"{__name__}:Tool.walk()"
    found = state_of("shop", "pytest", (TESTED,))
    assert found == f"{version}: untested, {__name__}:Tool.walk is missing"
    assert state_of("shop", "pytest", (Between("99.0", "99.1"),)) == f"{version}: too old"
    assert state_of("shop", "pytest", (version,)) == f"{version}: tested"
    assert state_of("shop", "no-such-package", (TESTED,)) == "-"


# -- a framework that is imported, and whose adapter nobody installed ------------------------------


@pytest.fixture
def bus():
    bus = Bus()
    bus.signal("pre_tool_call").connect(lambda sender: None, role="guard", weak=False)

    @hookable("tool_call", bus=bus)
    def own(name):
        return name

    bus.own = own
    return bus


def test_a_framework_that_is_imported_without_its_adapter_fails_the_check(bus, imported):
    bus.require_guard("tool_call")
    imported("smolagents", "crewai")
    with pytest.raises(HookError) as refused:
        bus.require_guard("tool_call")
    assert str(refused.value) == (
        "tool_call is not guarded for every tool, because these frameworks are imported without "
        "their adapter: crewai "
        "(hookbus.adapters.crewai.install()), smolagents (hookbus.adapters.smolagents.install())"
    )
    bus.require_guard("tool_call", sender=bus.own)  # one object is judged by its own guards


def test_it_is_named_where_nothing_declares_the_hook_too(imported):
    imported("strands")
    with pytest.raises(HookError, match=r"hookbus\.adapters\.strands\.install\(\)"):
        Bus().require_guard("tool_call")


def test_the_check_passes_once_the_adapter_is_installed_and_not_after_it_is_gone(
    bus, imported, monkeypatch
):
    imported("smolagents")
    monkeypatch.setattr(metadata, "version", lambda name: "1.26.0")
    with Patches("smolagents") as patches:
        bus.require_guard("tool_call")
    bus.require_guard("tool_call")
    patches.restore()
    with pytest.raises(HookError, match="smolagents"):
        bus.require_guard("tool_call")


def test_what_a_framework_with_its_adapter_requires_is_a_part_of_it(bus, imported, monkeypatch):
    wants = {"openai-agents": ["mcp>=1; python_version >= '3'"], "mcp": [], "smolagents": []}
    monkeypatch.setattr(metadata, "requires", lambda name: wants.get(name))
    imported("agents.tool_context", "mcp")
    monkeypatch.setattr(metadata, "version", lambda name: "0.24.0")
    with Patches("openai-agents") as patches:
        bus.require_guard("tool_call")
        imported("agents.tool_context", "mcp", "smolagents")
        with pytest.raises(HookError, match=r"adapter: smolagents \("):
            bus.require_guard("tool_call")
    patches.restore()
    with pytest.raises(HookError, match=r"adapter: mcp \(.*\), openai-agents \("):
        bus.require_guard("tool_call")


@pytest.mark.parametrize("adapter", ["agentscope", "agentscope2"])
def test_of_a_package_with_two_adapters_the_right_one_is_named(bus, imported, monkeypatch, adapter):
    version = "2.0.6" if adapter == "agentscope2" else "1.0.21"
    imported("agentscope")
    monkeypatch.setattr(metadata, "version", lambda name: version)
    with pytest.raises(HookError, match=rf"hookbus\.adapters\.{adapter}\.install\(\)"):
        bus.require_guard("tool_call")


def test_every_adapter_whose_framework_has_tools_is_known_to_the_check():
    from hookbus import adapters

    known = {each.adapter for each in frameworks.FRAMEWORKS} | {"agentscope2"}
    # Other frameworks import Anthropic's SDK for its models, and use none of its tools.
    assert known == {*adapters.__all__} - {"anthropic", "litellm", "openclaw"}


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("1.9.0: untested, self-test passed", 0),
        ("1.9.0: untested, langchain_core.tools.base:BaseTool.run is missing", 1),
        ("1.0.0: too old", 1), ("-", 1), ("1.8.3: tested", 0),
    ],
)  # fmt: skip
def test_doctor_says_whether_the_adapters_of_the_settings_fit(
    tmp_path, monkeypatch, capsys, state, code
):
    (tmp_path / "hookbus.toml").write_text('adapters = ["langchain"]\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(adapters_main, "_state", lambda *given: state)
    assert doctor(shown=Shown(json=True)) == code
    told = json.loads(capsys.readouterr().out)
    [row] = [each for each in told["adapters"] if each["adapter"] == "langchain"]
    assert row["fits"] == (state.partition(": ")[2] or "-")
    found = [f"the adapter langchain needs langchain-core 1.6.0 to 1.8.4; installed: {state}"]
    assert told["findings"] == (found if code else [])
