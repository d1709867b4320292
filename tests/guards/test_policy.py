"""guards.policy: calls are decided by policies in the language Cedar."""

import errno
import json
import logging
import os
import time
from pathlib import Path
from typing import Literal

import pytest

from hookbus import HookBlocked, HookError, baggage, events, hookable, report
from hookbus.approvals import Approved
from hookbus.guards import policy

from .test_tool_policy import Tool, outcome

PAY = """
@id("small") permit(principal in Role::"finance", action == Action::"tool_call",
    resource == Tool::"pay") when { context.arguments.amount <= 100 };
@id("large") @ask("pay {amount} to {to}?") permit(principal, action, resource == Tool::"pay")
    when { context.arguments.amount > 100 && context.arguments.amount <= 1000 };
@id("read") permit(principal, action, resource == Tool::"read");
@id("system") @reason("files of the system are not for agents") forbid(principal, action, resource)
    when { context.arguments has path && context.arguments.path like "/etc/*" };
"""
PERMIT = "permit(principal, action, resource is Tool);"


def pay(to: str, amount: int, note: str | None = None) -> None:
    """Take the place of a tool."""


def read(path: str) -> None:
    """Take the place of a tool."""


TOOLS = {"pay": pay, "read": read}
ADA = {"ada": ["finance"], "bob": []}
MALFORMED = {"uid": {"type": "Tool", "id": "pay"}, "attrs": {"owner": {"__entity": 3}}}
NO_LIST = {"type": "object", "properties": {"path": {"anyOf": 5}}}


@pytest.fixture
def say(call, bus):
    """Call a tool as a user, and return what happened."""

    def said(name, user="ada", **arguments):
        with baggage(user=user):
            return outcome(call, name, **arguments)

    return said


@pytest.fixture
def reason(call):
    """Call a tool, and return the reason of its block."""

    def said(name, **arguments):
        with pytest.raises(HookBlocked) as blocked:
            call(name, **arguments)
        assert call.made == []
        return blocked.value.reason

    return said


@pytest.fixture
def file(tmp_path):
    """A file of policies, whose new content is read at once."""

    class File:
        path = tmp_path / "agent.cedar"

        def write(self, text):
            self.path.write_text(text)
            time.sleep(0.11)

    found = File()
    found.path.write_text(PAY)
    return found


def test_permits_allow_for_their_roles_and_values_and_a_forbid_wins(say, bus):
    bus.register(policy(PAY, schema=TOOLS, entities=ADA))
    assert say("pay", to="x", amount=100) == "called"
    assert say("pay", to="x", amount=100, note="hi") == "called"
    assert say("pay", user="bob", to="x", amount=100) == "blocked"
    assert say("pay", to="x", amount=1001) == "blocked"
    assert say("read", path="/tmp/x") == "called"
    assert say("read", path="/etc/passwd") == "blocked"


def test_a_block_says_the_reason_of_its_policy_and_has_its_id_in_details(call, bus):
    bus.register(policy(PAY, schema=TOOLS, entities=ADA))
    with pytest.raises(HookBlocked) as blocked:
        call("read", path="/etc/passwd")
    verdict = blocked.value.verdict
    assert verdict.reason == "files of the system are not for agents"
    assert verdict.code == "policy" and verdict.details == {"policies": ["system"]}


def test_a_permit_with_ask_needs_an_approval_that_shows_the_arguments(say, bus):
    bus.register(policy(PAY, schema=TOOLS, entities=ADA))
    assert say("pay", to="x", amount=500) == "asked"
    asked = []

    @bus.approver
    def approve(request):
        asked.append((request.question, request.details))
        return Approved("eve")

    assert say("pay", to="x", amount=500) == "called"
    assert asked == [("pay 500 to x?", {"policies": ["large"]})]


def test_equal_calls_are_counted_each_and_their_questions_have_their_own_values(say, bus):
    guard = policy(
        '@id("ask") @ask("pay to {to}?") permit(principal, action, resource == Tool::"pay");'
        '@id("read") permit(principal == Agent::"ada", action, resource == Tool::"read");',
        schema=TOOLS,
    )
    bus.register(guard)
    asked = []

    @bus.approver
    def approve(request):
        asked.append(request.question)
        return Approved("eve")

    for to in ("x", "y", "x"):
        assert say("pay", to=to, amount=1) == say("read", path="x") == "called"
    assert say("read", user="bob", path="x") == "blocked"
    assert asked == ["pay to x?", "pay to y?", "pay to x?"]
    assert {each.id: each.decided for each in guard.rules}["read"] == 3


def test_a_permit_with_ask_asks_even_if_another_permit_matches(say, bus):
    bus.register(policy(PERMIT + PAY, schema=TOOLS, entities=ADA))
    assert say("pay", to="x", amount=500) == "asked" and say("read", path="x") == "called"


@pytest.mark.parametrize(
    "arguments, said",
    [({"to": "x", "amount": "50"}, "'amount' is not a 64-bit integer"),
     ({"to": "x", "amount": 50.0}, "'amount' is not a 64-bit integer"),
     ({"to": "x", "amount": True}, "'amount' is not a 64-bit integer"),
     ({"to": "x", "amount": 2**63}, "'amount' is not a 64-bit integer"),
     ({"to": ["x"], "amount": 50}, "'to' is not a string"),
     ({"to": "x", "amont": 50}, "no argument 'amont'; did you mean 'amount'"),
     ({"to": "x", "amount": 5, "__extn": {}}, "no argument '__extn'"),
     ({"to": "x"}, "'amount' is missing"), ({"to": None, "amount": 1}, "'to' is missing"),
     ({"to": {"__entity": {"type": "Role", "id": "finance"}}, "amount": 1}, "is not a string"),
     ({"to": "\ud800", "amount": 1}, "does not fit the schema")],
    ids=repr,
)  # fmt: skip
def test_arguments_that_do_not_fit_the_schema_block_without_their_value(
    reason, bus, arguments, said
):
    scope = 'permit(principal, action, resource == Tool::"pay") '
    bus.register(policy(scope + 'when { context.arguments.to != "" };', schema=TOOLS))
    text = reason("pay", **arguments)
    assert said in text and "50" not in text


def test_a_tool_that_the_schema_does_not_have_is_blocked(reason, bus):
    bus.register(policy(PERMIT, schema=TOOLS))
    assert "arguments of tool 'pya' are not known" in reason("pya", to="x")


def test_an_evaluation_error_blocks_even_where_cedar_allows(call, bus):
    overflow = '@id("sum") forbid(principal, action, resource == Tool::"pay") '
    overflow += "when { context.arguments.amount + 1 > 100 };"
    bus.register(policy(PERMIT + overflow, schema=TOOLS))
    assert call("pay", to="x", amount=1) == "done"
    with pytest.raises(HookBlocked, match="policy 'sum' could not be evaluated") as blocked:
        call("pay", to="x", amount=2**63 - 1)
    assert blocked.value.verdict.details == {"policies": ["sum"]}


def test_a_policy_in_shadow_is_reported_and_decides_nothing(call, bus):
    told = []
    bus.events.connect(lambda bus, event: told.append(event), kinds=(events.Blocked,))
    shadow = '@id("night") @shadow forbid(principal, action, resource == Tool::"pay");'
    guard = policy(PERMIT + shadow, schema=TOOLS)
    bus.register(guard)
    assert call("pay", to="x", amount=1) == "done" and call("read", path="x") == "done"
    [event] = told
    assert event.enforced is False and event.details == {"policies": ["night"]}
    assert [(each.id, each.decided) for each in guard.rules] == [("line 1", 2), ("night", 1)]


def test_conditions_on_the_resource_select_the_tools_whose_arguments_are_read(call, bus):
    bus.register(policy(PERMIT + """forbid(principal, action, resource) when {
        (resource == Tool::"pay" && context.arguments.amount > 5) ||
        (resource in [Tool::"read"] && context.arguments.path == "x") };""", schema=TOOLS))
    assert outcome(call, "pay", to="x", amount=5) == outcome(call, "read", path="y") == "called"
    assert outcome(call, "pay", to="x", amount=6) == outcome(call, "read", path="x") == "blocked"


def test_the_principal_is_the_user_else_the_session_else_anonymous(say, call, bus):
    only = "".join(f'permit(principal == Agent::"{each}", action, resource);'
                   for each in ("ada", "anonymous"))  # fmt: skip
    only += (
        "permit(principal, action, resource is Tool)"
        'when { context.baggage has session && context.baggage.session == "s-1" };'
    )
    bus.register(policy(only, schema=TOOLS, people={"ada": ["finance"]}))
    assert say("read", path="x") == "called" and say("read", user="eve", path="x") == "blocked"
    assert outcome(call, "read", path="x") == "called"
    for session, said in (("s-1", "called"), ("s-2", "blocked")):
        with baggage(session=session):
            assert outcome(call, "read", path="x") == said


def test_a_session_with_the_name_of_a_user_does_not_get_the_roles_of_the_user(call, bus):
    bus.register(policy(PAY, schema=TOOLS, entities=ADA))
    with baggage(session="ada"), pytest.raises(HookBlocked, match="has the name of a user"):
        call("pay", to="x", amount=1)


def test_policies_read_the_baggage(call, bus):
    bus.register(policy('permit(principal, action, resource) when { context.baggage has place && '
                        'context.baggage.place == "office" };', schema=TOOLS))  # fmt: skip
    assert outcome(call, "read", path="x") == "blocked"
    with baggage(place="office", other=object()):
        assert outcome(call, "read", path="x") == "called"


class Account:
    """Payments as a method that is itself the tool."""


@pytest.fixture
def account(bus):
    class Account:
        @hookable(bus=bus)
        def send(self, to: Literal["ada", "bob"], euros: float, tags: list[str] = [], note=None):
            return "sent"

    return Account()


SEND = """permit(principal, action == Action::"send", resource == Hook::"send") when {
    context.arguments.euros.lessThanOrEqual(decimal("99.99")) &&
    context.arguments.tags.contains("work") };"""


def test_a_hookable_is_the_tool_and_its_annotations_are_the_schema(account, bus):
    bus.register(policy(SEND, hook="send"))
    assert account.send("ada", 99.99, ["work", "x"]) == account.send("bob", 3, ["work"]) == "sent"
    for wrong in (("ada", 100.0, ["work"]), ("ada", 1.0, []), ("ada", 1.0, "work"),
                  (3, 1.0, ["work"]), ("ada", 1.00001, ["work"]),
                  ("ada", "1", ["work"])):  # fmt: skip
        with pytest.raises(HookBlocked):
            account.send(*wrong)


def test_a_policy_that_does_not_fit_a_hookable_is_refused_when_it_is_registered(account, bus):
    with pytest.raises(HookError, match="line 1: for 'send', attribute `arguments.euro`"):
        bus.register(policy(SEND.replace("euros", "euro"), hook="send"))
    assert account.send("ada", 500.0) == "sent"  # nothing is connected


@pytest.mark.parametrize("kind", ["Hook", "Action"])
def test_a_misspelt_hook_is_refused_at_registration_and_blocks_after_a_reload(
    account, bus, tmp_path, kind
):
    forbid = 'forbid(principal, action, resource == Hook::"sned");'
    if kind == "Action":
        forbid = 'forbid(principal, action == Action::"sned", resource);'
    with pytest.raises(HookError, match="line 4: no hook 'sned' is declared; did you mean 'send'"):
        bus.register(policy(f"{SEND}\n{forbid}", hook="send"))
    file = tmp_path / "bank.cedar"
    file.write_text(SEND)
    bus.register(policy(file, hook="send"))
    assert account.send("ada", 1, ["work"]) == "sent"
    file.write_text(f"{SEND}\n{forbid}")
    time.sleep(0.15)  # longer than the pause between two looks at the file
    with pytest.raises(HookBlocked, match="no hook 'sned' is declared"):
        account.send("ada", 1, ["work"])


SCHEMA = {
    "type": "object", "required": ["to"], "$defs": {"Place": {"type": "object", "properties": {
        "city": {"type": "string"}, "zip": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["city"]}},
    "properties": {"to": {"type": "string"}, "at": {"$ref": "#/$defs/Place"},
                   "days": {"type": "array", "items": {"type": "integer"}}, "more": {}},
}  # fmt: skip


@pytest.fixture
def run(bus):
    @hookable("tool_call", bus=bus, sender="tool")
    def tool_call(name, arguments, tool, kind="function"):
        return "ran"

    return tool_call


def test_the_schema_of_a_framework_s_tool_is_used(bus, run):
    bus.register(policy("""permit(principal, action, resource == Tool::"visit") when {
        context.arguments has at && context.arguments.at.city == "Rome" };
        forbid(principal, action, resource) when { context.arguments has days &&
        context.arguments.days.contains(7) };"""))
    tool = Tool(params_json_schema=SCHEMA)
    fine = {"to": "ada", "at": {"city": "Rome", "zip": None}, "more": {"any": [1]}}
    assert run("visit", fine, tool) == "ran"
    for wrong in ({"at": {"city": "Oslo"}}, {"days": [7]}, {"at": {"city": "Rome", "x": 1}},
                  {"days": ["7"]}, {"other": 1}):  # fmt: skip
        with pytest.raises(HookBlocked):
            run("visit", fine | wrong, tool)
    with pytest.raises(HookBlocked, match="arguments of tool 'visit' are not known"):
        run("visit", fine, Tool())
    with pytest.raises(HookBlocked, match="there is no tool 'visit'"):
        run("visit", fine, tool, kind="unknown")


def test_a_policy_that_does_not_fit_a_tool_blocks_it_and_is_a_finding(bus, run):
    scope = 'permit(principal, action, resource == Tool::"visit") '
    wrong = scope + "when { context.arguments.two == 1 };"
    bus.register(policy(wrong + 'permit(principal, action, resource == Tool::"visti");'))
    with pytest.raises(HookBlocked, match="attribute `arguments.two`"):
        run("visit", {"to": "x"}, Tool(params_json_schema=SCHEMA))
    findings = "\n".join(report(bus).findings)
    assert "attribute `arguments.two`" in findings
    assert "names Tool::'visti', which was never called; did you mean 'visit'?" in findings


CEDAR = """entity Role; entity Agent in [Role]; entity Tool;
action "tool_call" appliesTo { principal: Agent, resource: Tool, context: {
    arguments: { amount?: Long, price?: decimal, path?: String, to?: String },
    baggage: { level?: Long } } };"""


def test_a_schema_of_cedar_decides_what_arguments_may_be(call, bus, tmp_path):
    path = tmp_path / "tools.cedarschema"
    path.write_text(CEDAR)
    text = """permit(principal, action, resource) when { context.arguments has amount &&
        context.arguments.amount < 10 && context.baggage has level && context.baggage.level > 1 };
        permit(principal, action, resource) when { context.arguments has price &&
        context.arguments.price.lessThan(decimal("2.0")) };"""
    bus.register(policy(text, schema=path))
    with baggage(level=2, unrelated="x"):
        assert outcome(call, "pay", amount=9) == "called"
        assert outcome(call, "pay", amount=9, to=None) == "called"
        for wrong in ({"amount": 10}, {"amount": "9"}, {"amount": 9, "x": 1}, {"amount": 9.0},
                      {"amount": 9, "to": {"__extn": {"fn": "decimal", "arg": "1.0"}}},
                      ):  # fmt: skip
            assert outcome(call, "pay", **wrong) == "blocked"
    assert outcome(call, "pay", amount=9) == "blocked"
    assert outcome(call, "b", price=1.5) == "called"


@pytest.mark.parametrize(
    "text, said",
    [("", "contains no policy"), ("// only a comment", "contains no policy"),
     ("\n\npermit(principal, action, resource) when { 1 > > 2 };", "line 3: unexpected token"),
     (PERMIT + "\npermit(principal, action);", "line 2: this policy is missing"),
     (PERMIT.rstrip(";"), "line 1: unexpected end of input"),
     (PERMIT.replace("is Tool", '== Tool::"pya"'), "no tool 'pya'; did you mean 'pay'"),
     (PERMIT.replace("principal", 'principal in Role::"finanze"'), "did you mean 'finance'"),
     (PERMIT.replace("principal", 'principal in Rol::"finance"'), "did you mean 'Role'"),
     (PERMIT[:-1] + " when { context.arguments.amont < 1 };", "for 'pay', attribute `arguments.am"),
     (PERMIT[:-1] + ' when { context.arguments.path > 1 };', "for 'pay', attribute"),
     ('permit(principal, action, resource == Tool::"pay") when { context.arguments.amount > "1" };',
      "expected Long but saw String"),
     ("@resaon(\"x\")" + PERMIT, "@resaon has no meaning here; did you mean 'reason'"),
     ('@ask("x") forbid(principal, action, resource);', "@ask has no effect on a forbid"),
     ('@ask("pay {amont}?") permit(principal, action, resource == Tool::"pay");',
      "which 'pay' does not have; did you mean 'amount'"),
     ('@id("a")' + PERMIT + "\n" + '@id("a")' + PERMIT, "line 2: @id('a') is also at line 1"),
     ("permit(principal, action, resource);", "line 1: this permit matches every call: name a"),
     ("forbid(principal, action, resource);", "line 1: this forbid matches every call: name a"),
     ("permit(principal == ?principal, action, resource);", "a template")],
)  # fmt: skip
def test_policies_that_are_wrong_are_refused_with_their_line(text, said):
    with pytest.raises(HookError) as error:
        policy(text, schema=TOOLS, entities=ADA)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "options, said",
    [({"schema": 3}, "must be 'tools', a mapping"), ({"schema": ""}, "is empty"),
     ({"schema": "entity Tool"}, "cannot be read"), ({"schema": "entity;"}, "schema=: "),
     ({"schema": {"pay": 3}}, "'pay' needs a function"), ({"entities": 3}, "mapping of names"),
     ({"entities": [{"uid": "x"}]}, "not in Cedar's JSON format"),
     ({"people": {"ada": 3}}, "'ada' needs a list of roles"), ({"people": ["ada"]}, "mapping"),
     ({"people": {"ada": {"role": ["a"]}}}, "unknown key 'role'; did you mean 'roles'"),
     ({"people": {"ada": "finance"}}, "'ada' needs a list of roles"),
     ({"entities": {"ada": [], "Ada": []}}, "look alike"), ({"people": {"a, b": []}}, "not a name"),
     ({"entities": [MALFORMED]}, "not in Cedar's JSON format"),
     ({"entities": [{**MALFORMED, "attrs": {"a": object()}}]}, "malformed: TypeError"),
     ({"schema": {"pay": NO_LIST}}, "the declaration of 'pay' is malformed: TypeError")],
)  # fmt: skip
def test_options_that_are_wrong_are_refused(options, said):
    with pytest.raises(HookError, match=said):
        policy(PERMIT, **{"schema": TOOLS} | options)


def test_strings_and_comments_may_contain_semicolons(call, bus):
    text = f'// a; b "\n@id("x;//y") {PERMIT[:-1]} when {{ "a;\\"b" != "// c" }}; // d;\n'
    guard = policy(text, schema=TOOLS)
    bus.register(guard)
    assert call("read", path="x") == "done"
    assert [(each.id, each.line) for each in guard.rules] == [("x;//y", 2)]


def test_a_folder_has_the_policies_of_all_its_files_and_their_places(tmp_path, call, bus):
    (tmp_path / "b.cedar").write_text("\n" + PERMIT)
    (tmp_path / "a.cedar").write_text(PAY)
    guard = policy(tmp_path, schema=TOOLS, entities=ADA)
    bus.register(guard)
    assert outcome(call, "read", path="/etc/x") == "blocked"
    assert [each.id for each in guard.rules][-1] == "b.cedar:2"
    assert guard.rules[-1].file == str(tmp_path / "b.cedar") and guard.rules[-1].line == 2
    for name in ("a", "b"):
        (tmp_path / f"{name}.cedar").unlink()
    with pytest.raises(HookError, match="contains no"):
        policy(tmp_path, schema=TOOLS)


def test_a_changed_file_is_in_force_at_the_next_call(say, bus, file):
    guard = policy(file.path, schema=TOOLS, entities=ADA)
    bus.register(guard)
    assert say("read", path="x") == "called"
    file.write(PAY + 'forbid(principal, action, resource == Tool::"read");')
    assert say("read", path="x") == "blocked" and guard.problem is None
    assert guard.rules[2].decided == 1  # counted before


@pytest.mark.parametrize(
    "content", ["", "permit(", PAY.replace("Tool::\"read\"", "Tool::\"raed\""),
                PAY.replace("amount", "amont"), None],
)  # fmt: skip
def test_a_file_that_cannot_be_used_keeps_the_last_policies_and_is_said(
    say, bus, file, content, caplog
):
    told = []
    bus.events.connect(lambda bus, event: told.append(event), kinds=(events.Reloaded,))
    guard = policy(file.path, schema=TOOLS, entities=ADA)
    bus.register(guard)
    with caplog.at_level(logging.INFO, "hookbus"):
        if content is None:
            file.path.unlink()
            time.sleep(0.11)
        else:
            file.write(content)
        assert say("read", path="x") == "called" and say("read", path="/etc/x") == "blocked"
        assert str(file.path) in guard.problem
        [finding] = [each for each in report(bus).findings if "remain in force" in each]
        assert guard.problem in finding
        [event] = told
        assert event.problem == guard.problem and event.receiver == "policy"
        assert type(event)(**vars(event)) == event
        assert event.as_dict() | {"at": 0, "baggage": {}} == {
            "event": "Reloaded", "call_id": 0, "parent_id": None, "hook": "tool_call",
            "sender": "unknown", "at": 0, "baggage": {}, "receiver": "policy",
            "problem": guard.problem,
        }  # fmt: skip
        file.write(PAY)
        assert say("read", path="x") == "called" and guard.problem is None
    assert [each.levelname for each in caplog.records] == ["ERROR", "INFO"]
    assert [each.problem for each in told][1:] == [None]
    assert not [each for each in report(bus).findings if "remain in force" in each]


@pytest.mark.parametrize("option, valid, content", [
    ("entities", [], [MALFORMED]),
    ("schema", {"tools": [{"name": "read", "inputSchema": {}}]},
     {"tools": [{"name": "read", "inputSchema": NO_LIST}]}),
])  # fmt: skip
def test_a_malformed_file_beside_the_policies_is_said_and_not_only_ignored(
    say, bus, tmp_path, option, valid, content, caplog
):
    source, beside = tmp_path / "agent.cedar", tmp_path / "beside.json"
    source.write_text(PERMIT)
    beside.write_text(json.dumps(valid))
    guard = policy(source, **{"schema": {"read": {}}, option: beside})
    bus.register(guard)
    assert say("read") == "called" and guard.problem is None
    beside.write_text(json.dumps(content))
    source.write_text(PERMIT + 'forbid(principal, action, resource == Tool::"read");')
    time.sleep(0.11)
    assert say("read") == "called" and str(beside) in guard.problem
    assert [each.levelname for each in caplog.records] == ["ERROR"]
    assert any(guard.problem in each for each in report(bus).findings)
    beside.write_text(json.dumps(valid))
    time.sleep(0.11)
    assert say("read") == "blocked" and guard.problem is None
    beside.write_text(json.dumps(content))
    with pytest.raises(HookError, match="beside.json"):
        policy(source, **{"schema": {"read": {}}, option: beside})


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs modes that count")
def test_policies_in_a_folder_that_became_unreadable_are_said_too(say, bus, tmp_path):
    folder = tmp_path / "policies" / "agent"
    folder.mkdir(parents=True)
    (folder / "a.cedar").write_text(PERMIT)
    guard = policy(folder, schema=TOOLS)
    bus.register(guard)
    folder.parent.chmod(0)
    time.sleep(0.11)
    try:
        assert say("read", path="x") == "called" and "cannot be read" in guard.problem
    finally:
        folder.parent.chmod(0o700)


def test_a_folder_that_cannot_be_listed_is_said_too(say, bus, tmp_path, monkeypatch):
    (tmp_path / "a.cedar").write_text(PERMIT)
    guard = policy(tmp_path, schema=TOOLS)
    bus.register(guard)

    def fail(path, pattern):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "glob", fail)
    time.sleep(0.11)
    assert say("read", path="x") == "called"
    assert guard.problem == f"{tmp_path} cannot be read: Input/output error"


def test_a_new_policy_that_does_not_fit_a_tool_seen_so_far_is_not_used(account, bus, file):
    file.write(SEND)
    guard = policy(file.path, hook="send")
    bus.register(guard)
    assert account.send("ada", 1.0, ["work"]) == "sent"
    file.write(SEND.replace("euros", "euro"))
    assert account.send("ada", 1.0, ["work"]) == "sent"
    assert "attribute `arguments.euro`" in guard.problem


def test_people_and_entities_are_read_again_too(say, bus, file, tmp_path):
    people, tools = tmp_path / "people.toml", tmp_path / "entities.json"
    people.write_text('[ada]\nroles = ["finance"]\n[bob]\nroles = []\n')
    group = {"uid": {"type": "Tool", "id": "read"}, "attrs": {"risk": 1},
             "parents": [{"type": "Group", "id": "files"}]}  # fmt: skip
    tools.write_text(json.dumps([group]))
    text = PAY.replace('resource == Tool::"read"', 'resource in Group::"files"')
    file.write(text[:-1] + 'forbid(principal, action, resource == Tool::"read") when '
               "{ resource.risk > 1 };")  # fmt: skip
    bus.register(policy(file.path, schema=TOOLS, people=people, entities=tools))
    assert say("pay", to="x", amount=1) == "called" and say("read", path="x") == "called"
    assert say("pay", user="bob", to="x", amount=1) == "blocked"
    people.write_text('ada = ["finance"]\nbob = ["finance"]\n')
    tools.write_text(json.dumps([group | {"attrs": {"risk": 2}}]))
    time.sleep(0.11)
    assert say("pay", user="bob", to="x", amount=1) == "called"
    assert say("read", path="x") == "blocked"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_file_that_everyone_may_write_is_refused(tmp_path):
    for name, content, option in (("a.cedar", PERMIT, None), ("p.toml", "ada = []", "people")):
        path = tmp_path / name
        path.write_text(content)
        path.chmod(0o666)
        given = {option: path} if option else {}
        with pytest.raises(HookError, match="world-writable"):
            policy(PERMIT if option else path, schema=TOOLS, **given)


def test_a_call_inside_an_approved_call_is_not_asked_again(bus):
    asked = []

    @bus.approver
    def approve(request):
        asked.append(request.question)
        return Approved("eve")

    @hookable("tool_call", bus=bus)
    def inner(name, arguments):
        return "paid"

    @hookable("tool_call", bus=bus)
    def outer(name, arguments):
        return inner("pay", arguments)

    declared = {"pay": pay, "bank_pay": pay}
    bus.register(policy('@ask("pay?") permit(principal, action, resource);', schema=declared))
    assert outer("bank_pay", {"to": "x", "amount": 1}) == "paid" and asked == ["pay?"]


@pytest.mark.parametrize("text, entities", [
    ('permit(principal == Agent::"root", action, resource is Tool);', None),
    ('permit(principal, action, resource is Tool) when { principal == Agent::"root" };', None),
    ('permit(principal, action, resource is Tool) when { principal == resource.owner };',
     [{"uid": {"type": "Tool", "id": "read"}, "parents": [],
       "attrs": {"owner": {"__entity": {"type": "Agent", "id": "root"}}}}]),
    ('permit(principal, action, resource is Tool) when { principal == Agent::"anonymous" };', None),
])  # fmt: skip
def test_a_session_cannot_take_the_name_of_an_agent_that_policies_or_entities_name(
    call, bus, text, entities
):
    bus.register(policy(text, schema={"read": read}, entities=entities))
    name = "anonymous" if "anonymous" in text else "root"
    with baggage(user=name):
        assert outcome(call, "read", path="a") == "called"
    with baggage(session=name):
        assert outcome(call, "read", path="a") == "blocked"
    assert outcome(call, "read", path="a") == ("called" if name == "anonymous" else "blocked")
