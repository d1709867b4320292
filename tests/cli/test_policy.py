"""`hookbus policy`: policies in Cedar are checked, explained, tested and compared."""

import json
import sys

import pytest

from hookbus import Bus, HookBlocked, baggage, hookable
from hookbus.guards import policy
from hookbus.journal import Journal

POLICIES = """@id("small") permit(principal in Role::"finance", action, resource == Tool::"pay")
when { context.arguments.amount <= 100 };
@id("read") permit(principal, action, resource == Tool::"read");
@id("etc") @reason("no files of the system") forbid(principal, action, resource == Tool::"read")
when { context.arguments.path like "/etc/*" };
"""
TOOLS = '''def pay(to: str, amount: int):
    return "paid"


def read(path: str):
    return "read"


TOOLS = {"pay": pay, "read": read}
'''
TABLE = """policy = "agent.cedar"
people = "people.toml"
schema = "tools.json"

[[case]]
tool = "pay"
arguments = {to = "x", amount = 50}
user = "ada"
expect = "allow"
policy = "small"

[[case]]
tool = "pay"
arguments = {to = "x", amount = 50}
user = "bob"
expect = "block"

[[case]]
tool = "read"
arguments = {path = "/etc/passwd"}
expect = "block"
policy = "etc"
"""
MCP = {"tools": [
    {"name": "pay", "inputSchema": {"type": "object", "required": ["to", "amount"], "properties": {
        "to": {"type": "string"}, "amount": {"type": "integer"}}}},
    {"name": "read", "inputSchema": {"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string"}}}},
]}  # fmt: skip


@pytest.fixture
def files(folder):
    """A folder with policies, a module of tools, people and a table."""
    texts = {
        "agent.cedar": POLICIES, "wallet.py": TOOLS, "people.toml": 'ada = ["finance"]\n',
        "pay.policy.toml": TABLE, "tools.json": json.dumps(MCP),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    yield folder
    sys.modules.pop("wallet", None)


@pytest.fixture
def hookbus(hookbus):
    """The command line, with its output and its errors together."""

    def play(*words):
        code, said, wrong = hookbus(*words)
        return code, said + wrong

    return play


def journal_of(path, calls):
    """Record calls under the policies."""
    bus = Bus(values=True)

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        return "done"

    declared = {"pay": {"to": str, "amount": int}, "read": {"path": str}}
    bus.register(policy(POLICIES, schema=declared, entities={"ada": ["finance"]}))
    with Journal(path) as journal:
        journal.attach(bus)
        for user, name, arguments in calls:
            with baggage(user=user):
                try:
                    tool_call(name, arguments)
                except HookBlocked:
                    continue


WITH = ("--module", "wallet", "--people", "people.toml")
RECORDED = [("ada", "pay", {"to": "x", "amount": n}) for n in (5, 50, 500)]
RECORDED += [("bob", "read", {"path": "/tmp/x"})] * 2


def test_policies_without_mistakes_are_fine(hookbus, files):
    for tools in (("--module", "wallet"), ("--schema", "tools.json")):
        code, said = hookbus("policy", "check", "agent.cedar", *tools, "--people", "people.toml")
        assert code == 0 and said.startswith("agent.cedar: no problems found\n")


PAY = 'permit(principal, action, resource == Tool::"pay")'


@pytest.mark.parametrize(
    "text, said",
    [(f"{PAY} when {{ 1 > > 2 }};", "agent.cedar:1: unexpected token"), ("", "no policy"),
     (PAY.replace("pay", "pya") + ";", "no tool 'pya'; did you mean 'pay'"),
     (f"{PAY} when {{ context.arguments.amuont > 1 }};", "attribute `arguments.amuont`"),
     (f'{PAY} when {{ context.arguments.amount > "1" }};', "expected Long but saw String"),
     (f"{PAY} when {{ context.arguments.amount > 9 && context.arguments.amount < 3 }};",
      "can never match: no number is within its limits"),
     (f'{PAY} when {{ context.arguments.to == "a" && context.arguments.to == "b" }};',
      "can never match: one value cannot equal two others"),
     (f"{PAY} unless {{ true }};\n{PAY};", "can never match"),
     (f"{PAY} when {{ context.arguments has amuont }};", "no tool has; did you mean 'amount'"),
     (f"{PAY} when {{ context.arguments.amount > 9 }};\n{PAY.replace('permit', 'forbid')} "
      "when { context.arguments.amount > 5 };", "never decides, because of the forbid"),
     (f"{PAY};\n{PAY.replace('permit', 'forbid')};", "contradicts the forbid"),
     (f"{PAY};\n@id(\"again\") {PAY};", "is the same as")],
)  # fmt: skip
def test_mistakes_are_found(hookbus, files, text, said):
    (files / "agent.cedar").write_text(text)
    code, found = hookbus("policy", "check", "agent.cedar", *WITH, "--json")
    findings = json.loads(found)["findings"]
    assert code == 1 and len(findings) == 1 and said in findings[0]


def test_a_tool_that_no_permit_covers_is_noted(hookbus, files):
    (files / "agent.cedar").write_text(f"{PAY};")
    code, said = hookbus("policy", "check", "agent.cedar", *WITH)
    assert code == 0 and "no permit covers 'read', so all its calls are blocked" in said


def test_lists_of_tool_policy_are_checked_too(hookbus, files):
    (files / "lists.toml").write_text('deny = [{pay = {amuont = "5*"}}]\nallow = ["*"]\n')
    for tools in (("--module", "wallet"), ("--tool", "pay:to,amount")):
        code, said = hookbus("policy", "check", "lists.toml", *tools, "--json")
        [finding] = json.loads(said)["findings"]
        assert code == 1 and "did you mean 'amount'" in finding
    assert hookbus("policy", "check", "lists.toml", "--tool", "pay:amuont")[0] == 0


def test_a_call_is_explained_by_what_decided_and_what_was_near(hookbus, files):
    given = "--policies", "agent.cedar", *WITH, "--json"
    code, said = hookbus("policy", "explain", "pay", "to=x", "amount=50", "--user", "ada", *given)
    assert code == 0 and json.loads(said) == {
        "verdict": "allow", "reason": "", "policies": ["small"], "near": [], "in_shadow": [],
    }  # fmt: skip
    code, said = hookbus("policy", "explain", "pay", "to=x", "amount=500", "--user", "bob", *given)
    assert code == 1 and json.loads(said)["near"] == [{
        "policy": "small", "effect": "permit",
        "not met": 'principal in Role::"finance"; (context.arguments.amount) <= 100',
        "not evaluated": "",
    }]  # fmt: skip
    code, said = hookbus("policy", "explain", "pay", "to=x", 'amount="5"', *given)
    assert code == 1 and "'amount' is not a 64-bit integer" in json.loads(said)["reason"]


def test_a_session_with_the_name_of_a_user_is_blocked_as_the_guard_blocks_it(hookbus, files):
    given = "--policies", "agent.cedar", *WITH, "--json"
    code, said = hookbus("policy", "explain", "pay", "to=x", "amount=5", "--session", "ada", *given)
    assert code == 1 and "the session has the name of a user" in json.loads(said)["reason"]


def test_a_table_finds_each_verdict_that_differs(hookbus, files):
    assert hookbus("policy", "test", "pay.policy.toml") == (0, "3 cases, all as expected\n")
    changed = POLICIES.replace("<= 100", "<= 10").replace('in Role::"finance"', "")
    (files / "new.cedar").write_text(changed)
    code, said = hookbus("policy", "test", "pay.policy.toml", "--policies", "new.cedar", "--json")
    problems = json.loads(said)["problems"]
    assert code == 1 and [each["case"] for each in problems] == [1]
    assert problems[0]["call"] == "pay(to='x', amount=50) by ada"
    (files / "new.cedar").write_text(POLICIES.replace('@id("etc")', '@id("other")'))
    code, said = hookbus("policy", "test", "pay.policy.toml", "--policies", "new.cedar", "--json")
    assert "expected policy 'etc'" in json.loads(said)["problems"][0]["problem"]


@pytest.mark.parametrize(
    "table, said",
    [("", "has no [[case]]"), ('polcy = "x"', "did you mean 'policy'"), ("[[case]", "valid TOML"),
     ('[[case]]\ntool = "pay"', "expect = None must be allow, ask or block"),
     ('[[case]]\ntool = "pay"\nexpect = "alow"', "did you mean 'allow'"),
     ('[[case]]\nexpect = "allow"', "case 1 needs a tool"),
     (TABLE.replace('{path = "/etc/passwd"}', "3"), "case 3: arguments must be a table"),
     (TABLE.replace('user = "ada"', "baggage = 3"), "case 1: baggage must be a table"),
     ("hook = 3\n" + TABLE, "needs the name of a hook"),
     ('[[case]]\ntool = "pay"\nexpect = "ask"', "names no policies"),
     ('policy = "agent.cedar"\n[[case]]\ntool = "pay"\nexpect = "ask"', "are not known")],
)  # fmt: skip
def test_a_table_that_is_wrong_is_refused(hookbus, files, table, said):
    (files / "bad.toml").write_text(table)
    code, found = hookbus("policy", "test", "bad.toml")
    assert code == 2 and said in found


def test_calls_of_a_journal_or_table_whose_verdict_changes_are_listed(hookbus, files):
    journal_of(files / "calls.db", RECORDED)
    (files / "new.cedar").write_text(POLICIES.replace("<= 100", "<= 10"))
    versions = "agent.cedar", "new.cedar", "--people", "people.toml", "--json"
    for calls in (("--journal", "calls.db"), ("--journal", "calls.db", "--module", "wallet"),
                  ("--table", "pay.policy.toml")):  # fmt: skip
        code, said = hookbus("policy", "diff", *versions, *calls)
        [change] = json.loads(said)["changes"]
        assert code == 1 and (change["then"], change["now"]) == ("allow", "block")
        assert change["call"].endswith("amount=50) by ada")
    same = "agent.cedar", "agent.cedar", "--people", "people.toml", "--journal", "calls.db"
    assert hookbus("policy", "diff", *same) == (0, "5 calls, all with the same verdict\n")


def test_each_command_uses_all_settings_of_a_table(hookbus, files):
    text = POLICIES.replace("action, resource", 'action == Action::"run_tool", resource')
    (files / "agent.cedar").write_text(text)
    (files / "pay.policy.toml").write_text('hook = "run_tool"\n' + TABLE)
    assert hookbus("policy", "test", "pay.policy.toml")[0] == 0
    table = "--table", "pay.policy.toml", "--json"
    assert hookbus("policy", "diff", "agent.cedar", "agent.cedar", *table)[0] == 0
    code, said = hookbus("policy", "coverage", "agent.cedar", *table)
    assert {each["policy"]: each["decided"] for each in json.loads(said)["policies"]} == {
        "small": 1, "read": 0, "etc": 1,
    }  # fmt: skip


def test_coverage_counts_what_each_policy_decided(hookbus, files):
    journal_of(files / "calls.db", RECORDED)
    code, said = hookbus("policy", "coverage", "agent.cedar", "--journal", "calls.db",
                         "--people", "people.toml", "--json")  # fmt: skip
    counts = {each["policy"]: each["decided"] for each in json.loads(said)["policies"]}
    assert code == 1 and counts == {"small": 2, "read": 2, "etc": 0}


def test_a_first_policy_permits_what_was_allowed_and_says_how_often(hookbus, files):
    journal_of(files / "calls.db", RECORDED)
    code, said = hookbus("policy", "new", "--from-journal", "calls.db", "--output", "first.cedar")
    text = (files / "first.cedar").read_text()
    assert code == 0 and '// "pay": 2 calls' in text and "// 2 of 2 calls" in text
    assert "// 1 of 5 calls are left out" in text
    code, said = hookbus("policy", "check", "first.cedar", "--module", "wallet", "--json")
    assert code == 0, said
    given = "--policies", "first.cedar", "--module", "wallet"
    assert hookbus("policy", "explain", "pay", "to=x", "amount=50", *given)[0] == 0
    assert hookbus("policy", "explain", "pay", "to=x", "amount=500", *given)[0] == 1
    assert hookbus("policy", "new", "--from-journal", "calls.db", "--output", "first.cedar")[0] == 2


def test_a_new_policy_is_asked_about_recorded_calls(hookbus, files):
    journal_of(files / "calls.db", RECORDED)
    given = "--journal", "calls.db", "--people", "people.toml", "--json"
    assert hookbus("replay", "--policy", "agent.cedar", *given)[0] == 0
    (files / "new.cedar").write_text(POLICIES.replace("<= 100", "<= 10"))
    code, said = hookbus("replay", "--policy", "new.cedar", *given)
    [change] = json.loads(said)["differences"]
    assert code == 1 and change["arguments"]["arguments"]["amount"] == 50
    assert hookbus("replay", *given)[0] == 2 == hookbus("replay", "x", "--policy", "y", *given)[0]


PROGRAM = '''from hookbus import HookBlocked, hookable


@hookable("tool_call")
def call(name, arguments):
    return "read"


for path in ("/tmp/x", "/etc/passwd"):
    try:
        print(call("read", {"path": path}))
    except HookBlocked as blocked:
        print(blocked.reason)
'''


def test_a_program_runs_under_policies(hookbus, files):
    (files / "program.py").write_text(PROGRAM)
    given = "--policy", "agent.cedar", "--policy-schema", "tools.json", "--people", "people.toml"
    code, said = hookbus("run", *given, "program.py")
    assert code == 0 and said == "read\nno files of the system\n"
    code, said = hookbus("run", *given[2:], "program.py")
    assert code == 2 and "add --policy FILE" in said


def test_pytest_collects_a_table_as_tests(pytester):
    texts = {
        "agent.cedar": POLICIES, "people.toml": 'ada = ["finance"]\n',
        "tools.json": json.dumps(MCP),
        "pay.policy.toml": TABLE.replace("amount = 50", "amount = 500", 1),
    }  # fmt: skip
    for name, text in texts.items():
        (pytester.path / name).write_text(text)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    result.assert_outcomes(passed=2, failed=1)
    said = "*pay(to='x', amount=500) by ada: expected allow, but the verdict is block*"
    result.stdout.fnmatch_lines([said])
