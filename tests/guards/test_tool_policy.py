"""guards.tool_policy: which tools an agent may call."""

import asyncio
import os

import pytest

from hookbus import HookBlocked, HookError
from hookbus.approvals import Approved, Denied
from hookbus.events import Blocked
from hookbus.guards import rate_limit, tool_policy
from hookbus.testing import record


def outcome(call, name, **arguments):
    before = len(call.made)
    try:
        call(name, **arguments)
    except HookBlocked as blocked:
        assert len(call.made) == before
        return "asked" if "no approver is configured" in blocked.reason else "blocked"
    return "called"


def test_denied_wins_then_asked_then_allowed_and_what_is_unknown_is_asked_about(call, bus):
    bus.register(tool_policy(allow="read_*", deny=["read_secrets", "drop_*"], ask=["read_mail"]))
    said = {name: outcome(call, name) for name in
            ("read_file", "read_secrets", "drop_table", "read_mail", "write_file")}  # fmt: skip
    assert said == {"read_file": "called", "read_secrets": "blocked", "drop_table": "blocked",
                    "read_mail": "asked", "write_file": "asked"}  # fmt: skip
    bus.approver(lambda request: Approved("ada"))
    assert outcome(call, "write_file") == "called" and outcome(call, "drop_table") == "blocked"


@pytest.mark.parametrize("unknown, said", [("block", "blocked"), ("allow", "called")])
def test_what_no_list_has_is_as_said(call, bus, unknown, said):
    unregister = bus.register(tool_policy(allow="a", default=unknown))
    assert outcome(call, "b") == said
    unregister()
    assert outcome(call, "b") == "called"


def test_rules_of_arguments_match_when_all_their_patterns_do(call, bus):
    bus.register(tool_policy(allow="bash", deny={"bash": {"command": "rm *", "as": "root"}}))
    assert outcome(call, "bash", command="rm -rf /", **{"as": "root"}) == "blocked"
    assert outcome(call, "bash", command="rm -rf /", **{"as": "ada"}) == "called"
    assert outcome(call, "bash", command="ls", **{"as": "root"}) == "called"
    assert outcome(call, "bash", command="rm a\nls", **{"as": "root"}) == "blocked"


def test_the_details_of_a_verdict_name_the_rule_and_its_reason_does_not(call, bus):
    rules = {"deny": ["drop_*", {"bash": {"command": "rm *"}}], "ask": "send_*", "allow": "read_*"}
    bus.register(tool_policy(**rules, default="block"))
    said = {}
    for name, arguments in (("drop_all", {}), ("bash", {"command": "rm x"}), ("send_a", {}),
                            ("other", {})):  # fmt: skip
        with record(bus) as happened, pytest.raises(HookBlocked) as blocked:
            call(name, **arguments)
        assert "rm *" not in str(blocked.value) and "drop_*" not in str(blocked.value)
        (event,) = happened.of(Blocked)
        said[name] = (event.details or {}).get("rule")
    assert said == {"drop_all": "deny: 'drop_*'", "bash": "deny: 'bash' with {'command': 'rm *'}",
                    "send_a": None, "other": "default: block"}  # fmt: skip
    bus.approver(lambda request: Denied("ada", str(request.details)))
    with pytest.raises(HookBlocked, match=r"denied by ada: \{'rule': \"ask: 'send_\*'\"\}"):
        call("send_a")


@pytest.mark.parametrize("value", [["rm", "-rf"], {"run": "rm x"}, 7, None, b"ls"], ids=repr)
def test_what_is_no_text_is_denied_by_a_rule_and_never_allowed_by_one(call, bus, value):
    unregister = bus.register(tool_policy(allow="bash", deny={"bash": {"command": "rm *"}}))
    assert outcome(call, "bash", command=value) == "blocked"
    unregister()
    bus.register(tool_policy(allow={"bash": {"command": "ls*"}}, default="block"))
    assert outcome(call, "bash", command=value) == "blocked"
    assert outcome(call, "bash") == "blocked" and outcome(call, "bash", command="ls") == "called"


@pytest.mark.parametrize(
    "name", ["READ_a", "read_a\n", " read_a", "xread_a", "", None, 7, b"read_a"], ids=repr
)
def test_a_name_that_is_almost_one_is_not_that_one(call, bus, name):
    bus.register(tool_policy(allow="read_a", default="block"))
    assert outcome(call, name) == "blocked" and outcome(call, "read_a") == "called"


def test_arguments_that_are_no_mapping_are_blocked(call, bus):
    bus.register(tool_policy(allow="*"))
    for odd in (None, "text", ["a"], 3):
        with pytest.raises(HookBlocked):
            call.given("read", odd)


def test_a_file_says_the_same(call, bus, tmp_path):
    path = tmp_path / "tools.toml"
    path.write_text('allow = ["read_*"]\ndeny = [{bash = {command = "rm *"}}]\ndefault = "block"\n')
    guard = tool_policy.load(path)
    bus.register(guard)
    assert outcome(call, "read_a") == "called"
    assert outcome(call, "bash", command="rm x") == "blocked"
    assert guard.unused_rules(["read_file", "bsh"]) == [
        "deny: 'bash' with {'command': 'rm *'} matches no tool; did you mean 'bsh'?"
    ]
    assert guard.unused_rules(["read_file", "bash"]) == []


@pytest.mark.parametrize(
    "text, said",
    [("alow = ['a']", "unknown key 'alow'; did you mean 'allow'"), ("allow = [", "not valid TOML"),
     ("allow = 3", "allow=3 must be a glob"), ("allow = ['']", "'' is not a glob"),
     ("allow = [3]", "3 is not a glob"), ("allow = ['a']\ndefault = 'aks'", "did you mean 'ask'"),
     ("allow = ['a']\ndeny = ['a']", "'a' is in both deny= and allow="), ("", "without rules"),
     ("allow = [{bash = 'rm'}]", "needs a mapping of arguments"),
     ("deny = [{bash = {command = 1}}]", "1 is not a glob"),
     pytest.param("allow = " + "9" * 5000, "not valid TOML", id="a number of 5000 digits")],
)  # fmt: skip
def test_a_file_that_says_no_rule_is_refused_with_its_name(tmp_path, text, said):
    path = tmp_path / "tools.toml"
    path.write_text(text)
    with pytest.raises(HookError, match=said) as error:
        tool_policy.load(path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_no_text_is_said(tmp_path):
    with pytest.raises(HookError, match="cannot be read: No such file"):
        tool_policy.load(tmp_path / "none.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(HookError, match="is not valid TOML"):
        tool_policy.load(tmp_path / "odd.toml")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_rules_that_everyone_may_write_are_refused(tmp_path):
    path = tmp_path / "tools.toml"
    path.write_text("allow = ['a']")
    tool_policy.load(path)
    path.chmod(0o666)
    with pytest.raises(HookError, match="world-writable"):
        tool_policy.load(path)


def test_a_hook_of_another_name_is_named(bus):
    from hookbus import hookable

    @hookable("use", bus=bus)
    def use(name, arguments):
        return name

    bus.register(tool_policy(allow="a", default="block", hook="use"))
    assert use("a", {}) == "a"
    with pytest.raises(HookBlocked, match="use was blocked by tool_policy: tool 'b'"):
        use("b", {})
    with pytest.raises(HookError, match="must be the name of a hook"):
        tool_policy(allow="a", hook="a b")


class Tool:
    """A tool of a framework, which says what it takes."""

    def __init__(self, **says):
        vars(self).update(says)


SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}, "as": {}}}


@pytest.fixture
def run(bus):
    from hookbus import hookable

    @hookable("tool_call", bus=bus, sender="tool")
    def tool_call(name, arguments, tool):
        return "ran"

    return tool_call


@pytest.mark.parametrize(
    "says",
    [{"params_json_schema": SCHEMA}, {"parameters": SCHEMA}, {"inputSchema": SCHEMA},
     {"tool_spec": {"inputSchema": {"json": SCHEMA}}}, {"parameters": lambda: SCHEMA},
     {"input_schema": {"command": str, "as": str}}, {"inputs": {"command": {"type": "string"}}},
     {"schema": {"parameters": SCHEMA}}, {"args_schema": SCHEMA},
     {"parameters": [Tool(name="command"), Tool(name="as")]}],
    ids=lambda says: next(iter(says)),
)  # fmt: skip
@pytest.mark.parametrize("key", ["deny", "ask"])
def test_a_rule_for_an_argument_that_a_tool_does_not_have_blocks_that_tool(bus, run, says, key):
    bus.register(tool_policy(allow="*", **{key: {"bash": {"comand": "rm *"}}}))
    with pytest.raises(HookBlocked, match=f"a rule in {key}= names the argument 'comand', which "
                       "this tool does not have; did you mean 'command'"):  # fmt: skip
        run("bash", {"command": "ls"}, Tool(**says))
    assert run("read", {"path": "x"}, Tool(**says)) == "ran"


def test_a_session_of_several_tools_is_judged_by_the_schema_of_the_one_that_is_called(bus, run):
    bus.register(tool_policy(allow="*", deny={"*": {"comand": "rm *"}}))
    other = {"type": "object", "properties": {"path": {}}}
    session = Tool(__hookbus_schemas__={"bash": SCHEMA, "read": other})
    with pytest.raises(HookBlocked, match="did you mean 'command'"):
        run("bash", {"command": "ls"}, session)
    assert run("read", {"path": "x"}, session) == "ran"
    assert run("not listed", {"command": "ls"}, session) == "ran"


def test_a_rule_for_an_argument_that_is_only_left_out_waits_for_it(bus, run):
    bus.register(tool_policy(allow="*", deny={"bash": {"as": "root"}}))
    tool = Tool(parameters=SCHEMA)
    assert run("bash", {"command": "ls"}, tool) == "ran"
    with pytest.raises(HookBlocked, match="is not allowed"):
        run("bash", {"command": "ls", "as": "root"}, tool)


@pytest.mark.parametrize(
    "says",
    [{}, {"parameters": {"type": "object"}}, {"parameters": {}},
     {"parameters": SCHEMA | {"additionalProperties": True}}, {"parameters": 7},
     {"parameters": SCHEMA | {"anyOf": []}}],
    ids=repr,
)  # fmt: skip
def test_a_tool_that_may_take_it_is_not_blocked_and_the_rule_is_a_finding(bus, run, says):
    from hookbus import report

    guard = tool_policy(allow="*", deny={"bash": {"comand": "rm *"}}, ask="nobody_*")
    bus.register(guard)
    assert run("bash", {"command": "ls"}, Tool(**says)) == "ran"
    said = (
        "deny: 'bash' with {'comand': 'rm *'} names the argument 'comand', which no tool that it "
        "matches has; did you mean 'command'?"
    )
    unused = guard.unused_rules()
    assert said in unused and unused[1].startswith("ask: 'nobody_*' matches no tool")
    findings = [each for each in report(bus).findings if "matches" in each]
    assert len(findings) == 1 and findings[0].endswith(said)
    run("bash", {"comand": "ls"}, Tool(**says))
    assert not any("comand" in each for each in guard.unused_rules())


def test_a_rule_for_many_tools_blocks_those_that_have_nearly_its_argument(bus, run):
    bus.register(tool_policy(allow="*", deny={"*": {"command": "rm *"}}))
    reads, runs = (Tool(parameters={"properties": {name: {}}, "type": "object"})
                   for name in ("path", "comand"))  # fmt: skip
    assert run("read", {"path": "x"}, reads) == "ran"
    with pytest.raises(HookBlocked, match="did you mean 'comand'"):
        run("sh", {}, runs)


def test_unused_rules_of_tools_whose_parameters_are_named():
    allowed, denied = {"bash": {"comand": "ls"}}, {"ba*": {"command": "rm *"}}
    guard = tool_policy(allow=allowed, deny=denied, ask="bsh")
    assert guard.unused_rules({"bash": ["command"]}) == [
        "ask: 'bsh' matches no tool; did you mean 'bash'?",
        "allow: 'bash' with {'comand': 'ls'} names the argument 'comand', which no tool that it "
        "matches has; did you mean 'command'?",
    ]
    assert guard.unused_rules({"bash": ["command", "comand"], "bsh": []}) == []


def test_nobody_is_asked_about_a_tool_that_does_not_exist_and_it_is_counted(call, bus):
    asked = []

    @bus.approver
    def approve(request):
        asked.append(request.question)
        return Approved("ada")

    bus.register(tool_policy(allow="read", ask="pay*", deny="rm"))
    bus.register(rate_limit(4))

    def unknown(name):
        made = call.function(name, {}, kind="unknown")
        return asyncio.run(made) if call.is_async else made

    for name in ("pya", "pay"):
        with pytest.raises(HookBlocked, match=f"there is no tool '{name}'"):
            unknown(name)
    unknown("read")  # its framework says that there is none
    assert asked == [] and call("pay") == "done" and asked == ["call 'pay'?"]
    with pytest.raises(HookBlocked, match="limit of .* reached"):
        unknown("read")


def test_lists_that_never_ask_have_no_around(bus):
    def phases(guard):
        return [name for name, *_ in guard.receivers]

    assert phases(tool_policy(allow="read", default="block")) == ["pre_tool_call"]
    for asks in (tool_policy(allow="read"), tool_policy(ask="read", default="block")):
        assert phases(asks) == ["around_tool_call", "pre_tool_call"]
