"""What an adapter does on a release that it was not tested with, in the environment of each."""

import asyncio
import os
import re
from importlib import import_module, metadata

import pytest

from hookbus import Block, Bus, HookError
from hookbus.adapters._newer import find_problem
from hookbus.adapters._patches import Patches
from hookbus.adapters._seams._signatures import read_seams
from hookbus.exceptions import HookWarning
from hookbus.testing import adapter_contract

from .install import SYSTEMS
from .seams import lines_of

ADAPTER = SYSTEMS[os.environ["HOOKBUS_SYSTEM"]].tests
HOME = import_module(f"hookbus.adapters.{ADAPTER}")
SAMPLE = import_module(f"hookbus.adapters._seams.{ADAPTER}")
SEAMS = [*read_seams(SAMPLE.SEAMS)]

if ADAPTER != "mcp":  # its sample is a client with a server in this process: two calls
    TestThePublicContract = adapter_contract(SAMPLE.sample, HOME.install)


@pytest.fixture
def newer(monkeypatch):
    """Pretend that a release far ahead is installed."""
    package = package_of_adapter()
    real = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "99.0.0" if name == package else real(name)
    )


def package_of_adapter():
    uninstall = HOME.install(Bus())
    package = [*Patches._in_force][-1]
    uninstall()
    return package


def install():
    with pytest.warns(HookWarning, match=r"99\.0\.0 is newer than tested; its self-test passed"):
        return HOME.install(Bus())


def owner_of(seam):
    found = import_module(seam.module)
    *classes, name = seam.name.split(".")
    for each in classes:
        found = getattr(found, each)
    return found, name


def stock_of(seam):
    owner, name = owner_of(seam)
    return vars(owner)[name]


def test_what_is_installed_passes_the_self_test():
    assert find_problem(ADAPTER) is None


def test_the_list_of_seams_has_all_that_the_adapter_replaces():
    replaced = {line.removeprefix("async ").partition("(")[0] for line in lines_of(ADAPTER)}
    assert replaced <= {f"{seam.module}:{seam.name}" for seam in SEAMS}


def test_a_newer_release_installs_with_a_warning_and_uninstalls(newer):
    before = [stock_of(seam) for seam in SEAMS]
    uninstall = install()
    assert [stock_of(seam) for seam in SEAMS] != before
    uninstall()
    assert [stock_of(seam) for seam in SEAMS] == before


def test_it_installs_inside_of_a_running_event_loop(newer):
    async def main():
        install()()

    asyncio.run(main())


def test_a_newer_release_is_refused_where_untested_ones_are(newer):
    with pytest.raises(HookError, match=r"99\.0\.0 is installed, and this adapter supports"):
        HOME.install(Bus(), untested="refuse")
    with pytest.raises(HookError, match="untested='allow' is not valid: use 'check' or 'refuse'"):
        HOME.install(Bus(), untested="allow")


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.name)
def test_a_seam_that_was_removed_is_named(seam, newer, monkeypatch):
    owner, name = owner_of(seam)
    monkeypatch.delattr(owner, name)
    with pytest.raises(HookError, match=f"newer than tested.*{re.escape(seam.name)} is missing"):
        HOME.install(Bus())
    monkeypatch.undo()
    HOME.install(Bus())()  # the failed one has left nothing in force


def test_a_seam_that_calls_no_longer_come_through_is_found(newer, monkeypatch):
    """Every seam is there, and replacing it has no effect, as where the framework calls others."""
    install()()
    for name in ("replace", "replace_everywhere", "wrap", "wrap_function"):
        monkeypatch.setattr(Patches, name, lambda *args, **options: None)
    with pytest.raises(HookError, match=f"the self-test of the adapter {ADAPTER} failed"):
        HOME.install(Bus())


def test_the_self_test_is_of_a_bus_of_its_own(newer):
    bus, asked = Bus(), []
    hook = "model_call" if ADAPTER == "litellm" else "tool_call"
    bus.signal(f"pre_{hook}").connect(lambda sender: asked.append(1) or Block("no"), role="guard")
    with pytest.warns(HookWarning, match="its self-test passed"):
        uninstall = HOME.install(bus)
    uninstall()
    assert asked == []
