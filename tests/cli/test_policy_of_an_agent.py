"""`hookbus policy` for the support agent of `examples/`: mistakes, shadow, and journals without
values.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hookbus import Bus, HookBlocked, hookable
from hookbus.guards import policy
from hookbus.journal import Journal, replay

from .conftest import environment

AGENT = Path(__file__).parents[2] / "examples" / "support_agent.py"
ORDERS = '@id("orders") permit(principal, action, resource == Tool::"orders");\n'
REFUNDS = """@id("refunds")
permit(principal, action == Action::"tool_call", resource == Tool::"refund")
when { context.arguments.cents > 0 && context.arguments.cents <= 1000 };
"""
NO_LARGE_ONES = """@shadow @id("no large ones") @reason("at most 5 a refund")
forbid(principal, action, resource == Tool::"refund") when { context.arguments.cents > 500 };
"""
CALLS = [("orders", {"customer": "ada"}), ("refund", {"order": 1, "cents": 900}),
         ("refund", {"order": 2, "cents": 90})]  # fmt: skip
SHADOW = {"verdict": "allow", "would be": "block", "policies": "no large ones",
          "reason": "at most 5 a refund"}  # fmt: skip


@pytest.fixture
def agent(folder):
    """A folder with the support agent and its policies."""
    shutil.copy(AGENT, folder / "agent.py")
    (folder / "agent.cedar").write_text(ORDERS + REFUNDS)
    yield folder
    sys.modules.pop("agent", None)


def record(path, *, hook="tool_call", values=True, redacted=()):
    """Record calls of a hook without guards."""
    bus = Bus(values=values)
    if redacted:
        bus.redact(names=redacted)

    @hookable(hook, bus=bus)
    def call_tool(name, arguments):
        return "done"

    with Journal(path) as journal:
        journal.attach(bus)
        for name, arguments in CALLS:
            call_tool(name, arguments)


@pytest.mark.parametrize(
    "old, new, finding",
    [('action == Action::"tool_call"', 'action == Action::"tol_call"',
      "agent.cedar:2: 'refunds' names Action::\"tol_call\", but no known hook has that name; did "
      "you mean 'tool_call'?"),
     ('action == Action::"tool_call"', 'action == Action::"deploy"',
      "but no known hook has that name. If it is right, pass --hook deploy"),
     ("when { context", 'when { action == Action::"tol_call" && context', "did you mean"),
     (ORDERS, "", None),
     ('action == Action::"tool_call"', 'action == Action::"model_call"', None)],
)  # fmt: skip
def test_a_policy_with_an_unknown_action_is_a_finding(hookbus, agent, old, new, finding):
    (agent / "agent.cedar").write_text((ORDERS + REFUNDS).replace(old, new))
    code, out, _ = hookbus("policy", "check", "agent.cedar", "--module", "agent", "--json")
    findings = json.loads(out)["findings"]
    assert (code, len(findings)) == ((1, 1) if finding else (0, 0)), findings
    assert not finding or finding in findings[0]


def test_every_command_refuses_policies_about_another_hook(hookbus, agent):
    (agent / "agent.cedar").write_text(REFUNDS.replace("tool_call", "tool"))
    record(agent / "calls.db")
    why, first = "no policy is about the hook 'tool_call'", 'the first one names Action::"tool"'
    code, out, _ = hookbus("policy", "check", "agent.cedar", "--module", "agent", "--json")
    [finding] = json.loads(out)["findings"]
    assert code == 1 and why in finding and first in finding
    given = "--journal", "calls.db"
    for words in (("policy", "coverage", "agent.cedar"), ("replay", "--policy", "agent.cedar"),
                  ("policy", "diff", "agent.cedar", "agent.cedar")):  # fmt: skip
        code, _, error = hookbus(*words, *given)
        assert code == 2 and why in error and first in error and "--hook tool" in error
    code, out, _ = hookbus("policy", "check", "agent.cedar", "--module", "agent", "--hook", "tool")
    assert code == 0, out


def test_only_a_condition_without_a_value_is_not_evaluated(hookbus, agent):
    (agent / "agent.cedar").write_text(
        '@id("a") permit(principal, action, resource == Tool::"find") when '
        '{ context.arguments.a == "x" && context.arguments.a == "b" && context.arguments has n '
        "&& context.arguments.n > 3 };"
    )
    tools = {"tools": [{"name": "find", "inputSchema": {
        "type": "object", "required": ["a"],
        "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}}]}  # fmt: skip
    (agent / "tools.json").write_text(json.dumps(tools))
    code, out, _ = hookbus("policy", "explain", "find", "a=b", "--policies", "agent.cedar",
                           "--schema", "tools.json", "--json")  # fmt: skip
    [near] = json.loads(out)["near"]
    assert code == 1
    assert near["not met"] == '(context.arguments.a) == "x"; context.arguments has n'
    assert near["not evaluated"] == "(context.arguments.n) > 3"


def test_explain_diff_coverage_and_replay_agree_about_policies_in_shadow(hookbus, agent):
    record(agent / "calls.db")
    (agent / "new.cedar").write_text(ORDERS + REFUNDS + NO_LARGE_ONES)
    recorded = "--journal", "calls.db", "--json"
    code, out, _ = hookbus("policy", "explain", "refund", "order=1", "cents=900", "--policies",
                           "new.cedar", "--module", "agent", "--json")  # fmt: skip
    expected = [{"call": "refund(order=1, cents=900)", **SHADOW}]
    assert code == 0 and json.loads(out)["in_shadow"] == expected
    code, out, _ = hookbus("policy", "diff", "agent.cedar", "new.cedar", *recorded)
    found = json.loads(out)
    assert code == 0 and found["changes"] == [] and found["in_shadow"] == expected
    code, out, _ = hookbus("policy", "coverage", "new.cedar", *recorded)
    found = json.loads(out)
    assert code == 0 and found["in_shadow"] == expected
    assert {each["policy"]: (each["decided"], each["shadow"]) for each in found["policies"]} == {
        "orders": (1, False), "refunds": (2, False), "no large ones": (1, True),
    }  # fmt: skip
    code, out, _ = hookbus("replay", "--policy", "new.cedar", *recorded)
    found = json.loads(out)
    assert code == 0 and found["differences"] == [] and found["in_shadow"] == expected
    title = "policies in shadow decide nothing; enforced, they would change 1 of 3 calls"
    for words in (("policy", "diff", "agent.cedar", "new.cedar"), ("policy", "coverage",
                  "new.cedar"), ("replay", "--policy", "new.cedar")):  # fmt: skip
        assert title in hookbus(*words, *recorded[:2])[1]


def test_replay_lists_what_policies_in_shadow_would_change_apart_from_differences(agent):
    record(agent / "calls.db")
    bus = Bus()
    tools = {"orders": {"customer": str}, "refund": {"order": int, "cents": int}}
    bus.register(policy(ORDERS + REFUNDS + NO_LARGE_ONES, schema=tools))
    journal = Journal.reading(agent / "calls.db")
    found = replay(journal, bus)
    assert found.differences == () and found.judged == 3
    [change] = found.in_shadow
    assert (change.then, change.now, change.reason) == ("allowed", "blocked", "at most 5 a refund")
    assert "would be" in str(found)


@pytest.mark.parametrize("how", [{"values": False}, {"redacted": ("customer", "order")}])
def test_a_journal_without_values_gets_the_same_sentence_everywhere(hookbus, agent, how):
    record(agent / "calls.db", **how)
    (agent / "guards_of_agent.py").write_text(
        "from hookbus import default_bus\nfrom hookbus.guards import tool_policy\n"
        'default_bus.register(tool_policy(allow=["*"]))\n'
    )
    why = (
        "calls.db: 3 of 3 calls cannot be judged, because the values of their arguments were not "
        "recorded or are redacted: record with hookbus run --values"
    )
    for words in (
        ("replay", "--policy", "agent.cedar"), ("replay", "guards_of_agent"),
        ("policy", "diff", "agent.cedar", "agent.cedar"), ("policy", "coverage", "agent.cedar"),
        ("policy", "new", "--from-journal", "calls.db"),
    ):  # fmt: skip
        given = () if "new" in words else ("--journal", "calls.db")
        code, _, error = hookbus(*words, *given)
        assert code == 2 and why in error, words
    sys.modules.pop("guards_of_agent", None)


def test_calls_without_values_are_counted_beside_those_that_are_judged(hookbus, agent):
    record(agent / "calls.db", redacted=("customer",))
    code, out, _ = hookbus("policy", "diff", "agent.cedar", "agent.cedar", "--journal", "calls.db")
    assert code == 0 and "2 calls, all with the same verdict" in out
    assert "1 of 3 calls cannot be judged" in " ".join(out.split())
    code, out, _ = hookbus("policy", "new", "--from-journal", "calls.db")
    assert code == 0 and out.startswith("// 1 of 3 calls cannot be judged") and "redact" in out


def test_a_journal_of_another_hook_names_the_hooks_that_it_has(hookbus, agent):
    record(agent / "calls.db", hook="tool")
    code, _, error = hookbus("policy", "coverage", "agent.cedar", "--journal", "calls.db")
    assert code == 2 and "has no calls of tool_call; it has calls of tool: pass --hook" in error


PROGRAM = """from hookbus import HookBlocked, hookable


@hookable("tool")
def call_tool(name, arguments):
    return "paid"


for cents in (90, 900):
    try:
        print(call_tool("refund", {"order": 1, "cents": cents}))
    except HookBlocked as blocked:
        print(blocked.reason)
"""
TOOLS = {"tools": [{"name": "refund", "inputSchema": {
    "type": "object", "required": ["order", "cents"],
    "properties": {"order": {"type": "integer"}, "cents": {"type": "integer"}}}}]}  # fmt: skip


def test_run_decides_calls_of_another_hook_and_records_their_values(hookbus, agent):
    (agent / "program.py").write_text(PROGRAM)
    (agent / "tools.json").write_text(json.dumps(TOOLS))
    limited = REFUNDS.replace("tool_call", "tool").replace("<= 1000", "<= 100")
    (agent / "agent.cedar").write_text(limited)
    ran = subprocess.run(
        [sys.executable, "-m", "hookbus", "run", "--policy", "agent.cedar", "--policy-schema",
         "tools.json", "--hook", "tool", "--values", "--journal", "calls.db", "program.py"],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == "paid\nno policy permits 'refund' here\n"
    code, out, _ = hookbus("policy", "coverage", "agent.cedar", "--journal", "calls.db", "--hook",
                           "tool", "--json")  # fmt: skip
    assert code == 0 and json.loads(out)["calls"] == 2
    assert "add --policy FILE" in hookbus("run", "--hook", "tool", "program.py")[2]
    assert "--values needs a journal" in hookbus("run", "--values", "program.py")[2]
    assert "comes after program.py" in hookbus("run", "program.py", "--values")[2]


def test_the_log_names_the_policies_that_decided_and_what_shadow_would_ask(hookbus, agent):
    bus = Bus(values=True)

    @hookable("tool_call", bus=bus)
    def call_tool(name, arguments):
        return "done"

    asking = '@shadow @id("all") @ask("refund {cents}?") permit(principal, action, resource);'
    forbid = NO_LARGE_ONES.removeprefix("@shadow ")
    tools = {"orders": {"customer": str}, "refund": {"order": int, "cents": int}}
    tools["orders"]["cents"] = int
    bus.register(policy(ORDERS + REFUNDS + forbid + asking, schema=tools))
    with Journal(agent / "calls.db") as journal:
        journal.attach(bus)
        with pytest.raises(HookBlocked):
            call_tool("refund", {"order": 1, "cents": 900})
        call_tool("refund", {"order": 1, "cents": 90})
    out = hookbus("log", "--journal", "calls.db")[1]
    assert "at most 5 a refund [policy: no large ones]" in out
    assert "policy: shadow would have asked in pre: refund 90? [policy: all]" in out
