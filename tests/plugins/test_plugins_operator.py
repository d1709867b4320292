"""The operator's word stands over the plugin's; a guard gets weaker only where he says so outright.

Explain and report say whose stands.
"""

import sys

import pytest

from hookbus import Block, HookBlocked, explain, report

from .conftest import said_of

CODE = """
import time
from hookbus import Block

def redact(agent, msg): raise ValueError
def stamp(agent, msg): return {"msg": msg + "s"}
def guard(agent, msg): raise ValueError
def watch(agent): return None
def around(agent, call_next): return call_next()

def register(api):
    api.connect("pre_reply", redact, on_error="block")
    api.connect("pre_reply", stamp, timeout=5.0, priority=1)
    api.connect("pre_reply", guard, role="guard")
    api.connect("pre_reply", watch, role="observe")
    api.connect("around_reply", around)
"""


@pytest.fixture
def loaded(load, agent, user):
    def loaded(said):
        user.put("a", CODE, hooks=["pre_reply", "around_reply"])
        plugins = load(user=user, overrides={"a": said})
        return plugins, {row.receiver: row for row in explain(agent.reply)}

    return loaded


def test_without_overrides_the_plugins_word_stands(loaded):
    plugins, rows = loaded({})
    assert {(row.plugin, row.operator) for row in rows.values()} == {("a", None)}
    assert (rows["redact"].on_error, rows["stamp"].timeout, rows["stamp"].priority) == (
        "block", 5.0, 1,
    )  # fmt: skip
    assert plugins.diagnostics == ()


def test_the_operator_puts_the_guards_of_a_plugin_in_shadow(loaded, agent):
    plugins, rows = loaded({"shadow": True, "receivers": {"redact": {"on_error": "isolate"}}})
    assert (rows["guard"].shadow, rows["guard"].operator) == (True, "shadow (was False)")
    assert all(row.shadow is None for name, row in rows.items() if name != "guard")
    assert agent.reply("a") and plugins.diagnostics == ()


def test_a_guard_that_its_plugin_locks_stays_in_force(load, agent, user):
    code = CODE.replace('guard, role="guard"', 'guard, role="guard", locked=True')
    user.put("a", code, hooks=["pre_reply", "around_reply"])
    plugins = load(user=user, overrides={"a": {"shadow": True}})
    rows = {row.receiver: row for row in explain(agent.reply)}
    assert (rows["guard"].shadow, rows["guard"].locked) == (None, True)
    assert rows["guard"].operator == "not shadow: it is locked"
    [diagnostic] = plugins.diagnostics
    assert "shadow=True has no effect, because the guard is locked" in str(diagnostic)


def test_the_operator_sets_options_for_all_receivers_and_for_one(loaded):
    own = {"stamp": {"timeout": 1.0, "priority": -3}, "redact": {"on_error": "isolate"}}
    plugins, rows = loaded({"timeout": 2.0, "receivers": own})
    assert [(row.timeout, row.operator) for row in rows.values()] == [
        (2.0, "timeout (was None), on_error (was block)"),
        (1.0, "timeout (was 5.0), priority (was 1)"),
        (2.0, "timeout (was None)"), (2.0, "timeout (was None)"), (None, None),
    ]  # fmt: skip
    assert (rows["redact"].on_error, rows["stamp"].priority) == ("isolate", -3)
    assert list(rows) == ["redact", "stamp", "guard", "watch", "around"]
    assert plugins.diagnostics == ()


def test_what_explain_says_is_what_happens(load, agent, user):
    code = CODE.replace("def guard(agent, msg): raise ValueError", "def guard(agent): pass")
    user.put("a", code, hooks=["pre_reply", "around_reply"])
    with load(user=user), pytest.raises(HookBlocked, match="redact"):
        agent.reply("m")
    load(user=user, overrides={"a": {"on_error": "isolate"}})
    assert agent.reply("m") == "ms"


WEAKER = [
    {"on_error": "isolate"}, {"on_error": "raise"}, {"receivers": {"guard": {"on_error": "raise"}}},
]  # fmt: skip


@pytest.mark.parametrize("said", WEAKER)
def test_a_guard_stays_closed_whatever_the_operator_says_and_it_is_said(loaded, agent, said):
    plugins, rows = loaded(said)
    assert (
        rows["guard"].on_error == "block"
        and rows["guard"].operator == "not on_error: a guard blocks"
    )
    assert "has no effect, because a guard always blocks" in said_of("a", plugins, "warning")
    assert (rows["watch"].on_error, rows["around"].on_error) == ("isolate", "raise")
    assert rows["watch"].operator is None


def test_on_error_of_a_whole_plugin_reaches_its_modifiers(loaded):
    _, rows = loaded({"on_error": "raise"})
    assert [row.on_error for row in rows.values()] == [
        "raise", "raise", "block", "isolate", "raise",
    ]  # fmt: skip


def test_no_timeout_of_the_operator_takes_away_the_authors(loaded):
    _, rows = loaded({"receivers": {"stamp": {"timeout": None}}})
    assert rows["stamp"].timeout is None and rows["stamp"].operator == "timeout (was 5.0)"


def test_a_listener_of_events_takes_only_the_priority(load, bus, agent, user):
    user.put(
        "a", "def heard(bus, event): pass\ndef register(api): api.connect('events', heard)",
        hooks=["events"],
    )  # fmt: skip
    plugins = load(user=user, overrides={"a": {"timeout": 2.0, "on_error": "raise", "priority": 3}})
    assert plugins.diagnostics == ()
    assert [receiver.options.priority for receiver in bus.events.connections()] == [3]


def test_a_receiver_that_is_not_there_is_said(loaded):
    plugins, _ = loaded({"receivers": {"stmp": {"priority": 1}}})
    said = said_of("a", plugins, "warning")
    assert "names a receiver 'stmp', which the plugin does not have; did you mean 'stamp'" in said


def test_overrides_stand_again_after_a_reload(loaded, agent):
    plugins, before = loaded({"timeout": 2.0})
    plugins.reload("a")
    assert {row.receiver: row.operator for row in explain(agent.reply)} == {
        name: row.operator for name, row in before.items()
    }


def test_receivers_of_the_host_have_no_plugin_and_no_operator(loaded, bus, agent):
    bus.signal("pre_reply").connect(lambda agent: Block("no"), role="guard", name="host")
    _, rows = loaded({"timeout": 2.0})
    assert (rows["host"].plugin, rows["host"].operator) == (None, None)


def test_explain_and_report_show_plugins_as_text_and_html(load, bus, agent, user, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    user.put("a", CODE, hooks=["pre_reply", "around_reply"])
    user.put("off", more="enabled = false"), user.put("bad<b>", "", manifest="format = 9")
    plugins = load(user=user, overrides={"a": {"timeout": 2.0}})
    said = report(bus)
    assert [(row["plugin"], row["status"], row["receivers"]) for row in said.plugins] == [
        ("a", "loaded", 5), ("bad<b>", "refused", 0), ("off", "disabled", 0),
    ]  # fmt: skip
    for part in (
        "its manifest has enabled = false", "the manifest has format 9", "loaded", "refused",
        "disabled",
    ):  # fmt: skip
        assert (
            part in str(said)
            and part in said._repr_html_()
            and part in str(plugins)
            and part in plugins._repr_html_()
        )
    assert "<b>" not in said._repr_html_() + plugins._repr_html_()
    assert {row["plugin"] for row in said.receivers} == {"a"}
    assert (
        "timeout (was None)" in str(explain(agent.reply))
        and "operator" in explain(agent.reply)._repr_html_()
    )
    plugins.close()
    assert report(bus).plugins == () and "\nplugins\n" not in str(report(bus))
    assert "operator" not in str(explain(agent.reply))


def test_no_plugins_is_said_too(load, tmp_path):
    plugins = load(user=tmp_path / "nowhere")
    assert (
        "no plugins were found" in str(plugins) and "no plugins were found" in plugins._repr_html_()
    )
