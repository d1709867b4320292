"""The cases in which other policy engines for agents ran the tool: guards.policy blocks each."""

import threading

import cedarpy
import pytest

from hookbus import HookBlocked, HookError, baggage, hookable
from hookbus.guards import policy

PERMIT = """permit(principal, action, resource == Hook::"pay")
    when { context.arguments.amount <= 100 };"""
DENY = """permit(principal, action, resource == Hook::"bash");
    forbid(principal, action, resource == Hook::"bash")
    when { context.arguments.command like "*rm *" };"""


@pytest.fixture
def made():
    return []


@pytest.fixture
def pay(bus, made):
    @hookable("pay", bus=bus)
    def pay(to: str, amount: int, note: str = ""):
        made.append((to, amount))

    return pay


@pytest.fixture
def bash(bus, made):
    @hookable("bash", bus=bus)
    def bash(command: str, cwd: str | None = None):
        made.append(command)

    return bash


@pytest.mark.parametrize(
    "args, kwargs",
    [(("eve", 101), {}), (("eve",), {"amount": 101}), ((), {"to": "eve", "amount": 101}),
     (("eve", 10**30), {}), (("eve", "101"), {}), (("eve", "5"), {}), (("eve", 5.0), {}),
     (("eve", True), {}), (("eve", None), {}), (("eve", [5]), {}), (("eve", {"amount": 5}), {})],
    ids=repr,
)  # fmt: skip
def test_values_are_compared_as_numbers_however_they_are_passed(bus, pay, made, args, kwargs):
    bus.register(policy(PERMIT, hook="pay"))
    pay("eve", 100)
    with pytest.raises(HookBlocked):
        pay(*args, **kwargs)
    assert made == [("eve", 100)]


@pytest.mark.parametrize(
    "condition, amounts",
    [("context.arguments.amount == 5", [5]), ("!(context.arguments.amount == 5)", [4, 6]),
     ("!(context.arguments.amount == 4 || context.arguments.amount == 5)", [6]),
     ("(context.arguments.amount >= 4 && context.arguments.amount < 6) || "
      "context.arguments.amount == 6", [4, 5, 6])],
)  # fmt: skip
def test_equality_parentheses_and_not_mean_what_they_say(bus, pay, made, condition, amounts):
    text = f'permit(principal, action, resource == Hook::"pay") when {{ {condition} }};'
    bus.register(policy(text, hook="pay"))
    for amount in (4, 5, 6):
        try:
            pay("eve", amount)
        except HookBlocked:
            continue
    assert [amount for _, amount in made] == amounts


@pytest.mark.parametrize(
    "wrong", [PERMIT.replace("amount", "amuont"), PERMIT.replace("100", '"100"'),
              PERMIT.replace("arguments", "argument"), PERMIT.replace("context", "contxt"),
              DENY.replace("command", "comand")],
)  # fmt: skip
def test_a_misspelt_field_is_refused_before_any_call(bus, pay, bash, made, wrong):
    with pytest.raises(HookError):
        bus.register(policy(wrong, hook=("pay", "bash")))


def test_a_deny_rule_applies_to_the_final_arguments(bus, bash, made):
    @bus.signal("pre_bash").connect
    def changes(sender, command):
        return {"command": command.replace("list", "rm -r /")}

    bus.register(policy(DENY, hook="bash"))
    bash("ls")
    with pytest.raises(HookBlocked):
        bash("list")
    assert made == ["ls"]


def test_arguments_that_an_around_changes_are_decided_again(bus, bash, made):
    @bus.signal("around_bash").connect
    def changes(sender, call_next):
        return call_next(command="rm -r /")

    bus.register(policy(DENY, hook="bash"))
    with pytest.raises(HookBlocked):
        bash("ls")
    assert made == []


def test_an_approval_without_an_approver_that_fails_or_of_another_user_is_none(bus, pay, made):
    bus.register(policy(PERMIT.replace("permit", '@ask("pay {amount}?") permit'), hook="pay"))
    with baggage(user="ada"), pytest.raises(HookBlocked):
        pay("eve", 5)

    @bus.approver
    def fails(request):
        raise RuntimeError("no approver is here")

    with baggage(user="ada"), pytest.raises(HookBlocked):
        pay("eve", 5)
    assert made == []


def test_threads_are_decided_by_their_own_user(bus, pay, made):
    text = PERMIT.replace("principal", 'principal == Agent::"ada"')
    bus.register(policy(text, hook="pay"))

    def work(user):
        with baggage(user=user):
            for _ in range(50):
                try:
                    pay(user, 5)
                except HookBlocked:
                    continue

    threads = [threading.Thread(target=work, args=(user,)) for user in ("ada", "eve")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made == [("ada", 5)] * 50


@pytest.mark.parametrize("text", ["", "// nothing", "permit(principal, action, resource);"])
def test_no_policy_and_a_policy_for_everything_are_refused(text):
    with pytest.raises(HookError):
        policy(text, hook="pay")


SCOPES = [
    "principal", 'principal == Agent::"ada"', 'principal in Role::"lead"', "principal is Agent",
    'principal is Agent in Role::"staff"', 'principal == Agent::"stranger"',
]  # fmt: skip
GROUPS = [
    {"uid": {"type": kind, "id": name}, "attrs": {},
     "parents": [{"type": "Role", "id": each} for each in roles]}
    for kind, name, roles in [("Agent", "ada", ["lead"]), ("Agent", "bob", ["staff"]),
                              ("Agent", "cy", []), ("Role", "lead", ["staff"])]
]  # fmt: skip


@pytest.mark.parametrize("forbidden", SCOPES)
@pytest.mark.parametrize("permitted", SCOPES)
def test_the_scope_of_principals_means_what_it_means_in_cedar(bus, pay, made, permitted, forbidden):
    text = f"""
        permit({permitted}, action, resource is Hook) when {{ context.arguments.amount < 9 }};
        forbid({forbidden}, action, resource is Hook) when {{ context.arguments.amount < 5 }};"""
    bus.register(policy(text, hook="pay", entities=GROUPS))
    for user in ("ada", "bob", "cy", "stranger", "lead"):
        for amount in (4, 5, 9):
            request = {
                "principal": {"type": "Agent", "id": user}, "action": 'Action::"pay"',
                "resource": 'Hook::"pay"', "context": {"arguments": {"amount": amount}},
            }  # fmt: skip
            before, allowed = len(made), cedarpy.is_authorized(request, text, GROUPS).allowed
            with baggage(user=user):
                try:
                    pay("eve", amount)
                except HookBlocked:
                    pass
            assert (len(made) > before) == allowed, (user, amount)


def test_an_error_in_a_policy_blocks_those_whom_its_scope_covers_and_nobody_else(bus, pay, made):
    text = """permit(principal, action, resource is Hook) when { context.arguments.amount > 0 };
        forbid(principal in Role::"lead", action, resource is Hook)
        when { context.arguments.amount + 9223372036854775807 > 5 };"""
    bus.register(policy(text, hook="pay", entities=GROUPS))
    for user in ("cy", "ada", "bob", "ada", "cy"):
        with baggage(user=user):
            try:
                pay(user, 5)
            except HookBlocked as blocked:
                assert "could not be evaluated" in blocked.reason
    assert [user for user, _ in made] == ["cy", "bob", "cy"]
