"""`hookbus hooks`, `explain` and `check`: what there is, who would run, and what is wrong."""

import json

import pytest


def test_the_hooks_of_a_module_are_listed(hookbus):
    code, out, err = hookbus("hooks", "agent")
    assert (code, err) == (0, "")
    assert "Agent.reply" in out and "agent.py:5" in out


def test_the_hooks_of_a_bus_of_the_modules_own_are_listed_with_its_name(hookbus, folder):
    (folder / "agent.py").write_text(
        "from hookbus import Bus, hookable\nhouse = Bus()\n@hookable(bus=house)\ndef ring(): ...\n"
    )
    code, out, _ = hookbus("hooks", "agent.py", "--json")
    [row] = [row for row in json.loads(out)["hooks"] if row["hook"] == "ring"]
    assert (code, row["bus"], row["function"]) == (0, "house", "ring")


def test_explain_says_who_runs_where_and_by_which_policy(hookbus):
    code, out, err = hookbus("explain", "agent:Agent.reply")
    assert (code, err) == (0, "")
    [line] = [line for line in out.splitlines() if "no_keys" in line]
    assert line.split() == ["pre", "1", "no_keys", "guard", "class", "Agent", "block", "2",
                            "agent.py:14", "yes"]  # fmt: skip


def test_explain_shows_the_function_that_runs(hookbus):
    _, out, _ = hookbus("explain", "agent:Agent.reply", "--source")
    assert "def " in out and "no_keys" in out
    _, out, _ = hookbus("explain", "agent:Agent.reply", "--source", "--json")
    assert "def " in json.loads(out)["source"]


@pytest.mark.filterwarnings("ignore::hookbus.exceptions.HookWarning")
def test_explain_says_what_can_never_fire_at_this_hook(hookbus):
    _, out, _ = hookbus("explain", "mistakes:Agent.reply", "--json")
    never = json.loads(out)["never"]
    assert any("nothing emits pre_replly" in each for each in never)
    assert not any("transfer" in each or "pre_say" in each for each in never)
    _, out, _ = hookbus("explain", "mistakes:say", "--json")
    assert any("can never match" in each for each in json.loads(out)["never"])


def test_check_of_a_module_in_order_is_quiet(hookbus):
    assert hookbus("check", "agent") == (0, "agent: no problems found\n", "")


PARTS = [
    "nothing emits pre_replly, but misspelt (",
    "did you mean 'pre_reply'?",
    "opens (", "blocks, but fails open: connect it with role='guard'",
    "unmatched (", "can never match",
    "does not guard all of mistakes.Child.reply", "not hooked: mistakes.Child.reply",
    "require_guard=True blocks calls: no guard covers every 'transfer' call",
]  # fmt: skip


def test_check_finds_what_cannot_be_meant_so(hookbus):
    code, out, _ = hookbus("check", "mistakes", "--json")
    found = json.loads(out)["findings"]
    assert code == 1
    assert [part for part in PARTS if not any(part in each for each in found)] == [], out


def test_check_finds_a_circle(hookbus):
    code, out, err = hookbus("check", "circle")
    assert (code, err) == (1, "")
    assert "before= and after= form a cycle" in out


def test_check_finds_rules_that_match_no_tool(hookbus, folder):
    (folder / "rules.toml").write_text('allow = ["read_*", "raed_file"]\n')
    code, out, _ = hookbus("check", "tooled", "--rules", "rules.toml", "--json")
    [finding] = json.loads(out)["findings"]
    assert code == 1
    assert finding.endswith("allow: 'raed_file' matches no tool; did you mean 'read_file'?")
    assert hookbus("check", "agent", "--rules", "rules.toml", "--tool", "raed_file",
                   "--tool", "read_x")[0] == 0  # fmt: skip


def test_check_finds_what_the_settings_require_and_is_not_there(hookbus, folder):
    (folder / "hookbus.toml").write_text('require_guard = ["reply", "transfer"]\n')
    code, out, _ = hookbus("check", "agent", "--json")
    [finding] = json.loads(out)["findings"]
    assert code == 1 and "nothing declares the hook 'transfer'" in finding


def test_check_finds_a_plugin_that_is_refused(hookbus, folder):
    (folder / "plugins" / "search").mkdir(parents=True)
    (folder / "plugins" / "search" / "hookbus-plugin.toml").write_text('format = 1\nid = "a"\n')
    (folder / "hookbus.toml").write_text('[plugins]\nuser = "plugins"\n')
    code, out, _ = hookbus("check", "agent")
    assert code == 1 and "version" in out
