"""guards.tools: which tools an agent may call."""

import pytest

from hookbus import HookBlocked, HookError
from hookbus.approvals import Approved
from hookbus.guards import tools


def outcome(call, name, **arguments):
    before = len(call.made)
    try:
        call(name, **arguments)
    except HookBlocked as blocked:
        assert len(call.made) == before
        return "asked" if "nobody is there" in blocked.reason else "blocked"
    return "called"


def test_denied_wins_then_asked_then_allowed_and_what_is_unknown_is_asked_about(call, bus):
    bus.plug(tools(allow="read_*", deny=["read_secrets", "drop_*"], ask=["read_mail"]))
    said = {name: outcome(call, name) for name in
            ("read_file", "read_secrets", "drop_table", "read_mail", "write_file")}  # fmt: skip
    assert said == {"read_file": "called", "read_secrets": "blocked", "drop_table": "blocked",
                    "read_mail": "asked", "write_file": "asked"}  # fmt: skip
    bus.approver(lambda request: Approved("ada"))
    assert outcome(call, "write_file") == "called" and outcome(call, "drop_table") == "blocked"


@pytest.mark.parametrize("unknown, said", [("block", "blocked"), ("allow", "called")])
def test_what_no_list_has_is_as_said(call, bus, unknown, said):
    unplug = bus.plug(tools(allow="a", unknown=unknown))
    assert outcome(call, "b") == said
    unplug()
    assert outcome(call, "b") == "called"


def test_rules_of_arguments_match_when_all_their_patterns_do(call, bus):
    bus.plug(tools(allow="bash", deny={"bash": {"command": "rm *", "as": "root"}}))
    assert outcome(call, "bash", command="rm -rf /", **{"as": "root"}) == "blocked"
    assert outcome(call, "bash", command="rm -rf /", **{"as": "ada"}) == "called"
    assert outcome(call, "bash", command="ls", **{"as": "root"}) == "called"
    assert outcome(call, "bash", command="rm a\nls", **{"as": "root"}) == "blocked"


@pytest.mark.parametrize("value", [["rm", "-rf"], {"run": "rm x"}, 7, None, b"ls"], ids=repr)
def test_what_is_no_text_is_denied_by_a_rule_and_never_allowed_by_one(call, bus, value):
    unplug = bus.plug(tools(allow="bash", deny={"bash": {"command": "rm *"}}))
    assert outcome(call, "bash", command=value) == "blocked"
    unplug()
    bus.plug(tools(allow={"bash": {"command": "ls*"}}, unknown="block"))
    assert outcome(call, "bash", command=value) == "blocked"
    assert outcome(call, "bash") == "blocked" and outcome(call, "bash", command="ls") == "called"


@pytest.mark.parametrize(
    "name", ["READ_a", "read_a\n", " read_a", "xread_a", "", None, 7, b"read_a"], ids=repr
)
def test_a_name_that_is_almost_one_is_not_that_one(call, bus, name):
    bus.plug(tools(allow="read_a", unknown="block"))
    assert outcome(call, name) == "blocked" and outcome(call, "read_a") == "called"


def test_arguments_that_are_no_mapping_are_blocked(call, bus):
    bus.plug(tools(allow="*"))
    for odd in (None, "text", ["a"], 3):
        with pytest.raises(HookBlocked):
            call.given("read", odd)


def test_a_file_says_the_same(call, bus, tmp_path):
    path = tmp_path / "tools.toml"
    path.write_text('allow = ["read_*"]\ndeny = [{bash = {command = "rm *"}}]\nunknown = "block"\n')
    guard = tools.load(path)
    bus.plug(guard)
    assert outcome(call, "read_a") == "called"
    assert outcome(call, "bash", command="rm x") == "blocked"
    assert guard.unmatched(["read_file", "bsh"]) == [
        "deny: 'bash' with {'command': 'rm *'} matches no tool; did you mean 'bsh'?"
    ]
    assert guard.unmatched(["read_file", "bash"]) == []


@pytest.mark.parametrize(
    "text, said",
    [("alow = ['a']", "there is no 'alow'; did you mean 'allow'"), ("allow = [", "is no TOML"),
     ("allow = 3", "allow=3 takes a glob"), ("allow = ['']", "'' is no pattern"),
     ("allow = [3]", "3 is no pattern"), ("allow = ['a']\nunknown = 'aks'", "did you mean 'ask'"),
     ("allow = ['a']\ndeny = ['a']", "'a' is in deny and in allow"), ("", "without a rule"),
     ("allow = [{bash = 'rm'}]", "takes a mapping of arguments"),
     ("deny = [{bash = {command = 1}}]", "1 is no pattern")],
)  # fmt: skip
def test_a_file_that_says_no_rule_is_refused_with_its_name(tmp_path, text, said):
    path = tmp_path / "tools.toml"
    path.write_text(text)
    with pytest.raises(HookError, match=said) as error:
        tools.load(path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_no_text_is_said(tmp_path):
    with pytest.raises(HookError, match="cannot be read: No such file"):
        tools.load(tmp_path / "none.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(HookError, match="is no TOML"):
        tools.load(tmp_path / "odd.toml")


def test_a_hook_of_another_name_is_named(bus):
    from hookbus import hookable

    @hookable("use", bus=bus)
    def use(name, arguments):
        return name

    bus.plug(tools(allow="a", unknown="block", hook="use"))
    assert use("a", {}) == "a"
    with pytest.raises(HookBlocked, match="use was blocked by tools: the tool 'b'"):
        use("b", {})
    with pytest.raises(HookError, match="must be the name of a hook"):
        tools(allow="a", hook="a b")
