"""OpenClaw's plugins: manifests, conflicts, and who stands where."""

from pathlib import Path

import pytest

from hookbus import explain, load_plugins, report
from hookbus.testing import record

from . import openclaw_parts as parts

host = parts.host


@pytest.fixture
def folder(tmp_path):
    def add(name, register, manifest=""):
        (tmp_path / name).mkdir()
        hooks = 'hooks = ["pre_tool_call", "session_start"]'
        (tmp_path / name / "hookbus-plugin.toml").write_text(
            f'format = 1\nid = "{name}"\nversion = "1.0"\n{hooks}\n{manifest}'
        )
        (tmp_path / name / "plugin.py").write_text(f"def register(api):\n    {register}\n")
        return tmp_path

    return add


def test_openclaw_O27_P19_a_manifest_is_read_without_importing_code(host, folder):
    path = folder("good", 'api.connect("session_start", lambda event, ctx: None)')
    folder("bad", "import sys; sys.modules['openclaw_bad_was_imported'] = sys", "unheard_of = 1")
    plugins = load_plugins(host.registry.bus, user=path, installed=False)
    assert plugins.loaded == ("good",) and [
        row.status for row in plugins.rows() if row.plugin == "bad"
    ] == ["refused"]
    import sys

    assert "openclaw_bad_was_imported" not in sys.modules
    plugins.close()


def test_openclaw_O28_P19_deny_wins_over_allow_before_code_is_imported(host, folder):
    path = folder("one", "raise SystemExit('imported')")
    folder("two", 'api.connect("session_start", lambda event, ctx: None)')
    plugins = load_plugins(
        host.registry.bus, user=path, installed=False, allow=["one", "two"], deny=["one"]
    )
    assert plugins.loaded == ("two",)
    plugins.close()


def test_openclaw_O29_P18_the_first_registration_stands_and_the_later_one_is_told_who_owns_it(host):
    assert host.registry.provide("a", "command", "deploy", 1) is True
    assert host.registry.provide("b", "command", "deploy", 2) is False
    assert host.registry.provide("b", "route", "deploy", 3) is True
    assert host.registry.provided("command") == {"deploy": 1}
    [diagnostic] = host.registry.diagnostics
    assert (diagnostic.level, diagnostic.plugin_id) == ("error", "b")
    assert diagnostic.message == "command already registered: deploy (a)"
    host.registry.on("a", "session_start", print)
    host.registry.on("b", "session_start", print)
    assert len(host.registry.typed_hooks) == 2 and len(host.registry.diagnostics) == 1
    host.registry.disable("a")
    assert host.registry.provide("b", "command", "deploy", 4) is True


async def test_openclaw_O31_explain_and_report_show_every_handler_where_it_stands(host):
    host.returns("low", "before_tool_call", {}, priority=-1)
    host.returns("high", "before_tool_call", {}, priority=7)
    rows = explain(host.registry.specs["before_tool_call"])
    assert [(row.receiver, row.priority) for row in rows] == [("high", 7), ("low", -1)]
    assert all(Path(parts.__file__).name in row.where for row in rows)
    with record(host.registry.bus) as fired:
        await host.run("before_tool_call", {"toolName": "x", "params": {}})
    assert fired.count("before_tool_call") == 1
    modes = {row["hook"]: row["mode"] for row in report(host.registry.bus).hooks}
    assert modes["before_model_resolve"] == "modify: modelOverride first, providerOverride first"
    assert modes["reply_payload_sending"].startswith("modify_gate: payload chained")
