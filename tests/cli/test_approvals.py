"""`hookbus approvals`: what waits for a yes is listed, shown in full, and answered."""

import hashlib
import json
import time

import pytest

from hookbus import Ask, Bus, baggage, hookable
from hookbus.approvals import ApprovalPending, Approved, Proof, Store


@pytest.fixture
def pay(folder):
    """A payment that needs a yes from `approvals.db`, which the settings name."""
    (folder / "pyproject.toml").write_text('[tool.hookbus]\napprovals = "approvals.db"\n')
    bus = Bus()
    bus.approver(Store(folder / "approvals.db"))
    pay = hookable("pay", bus=bus, identity=lambda pay: "pay")(lambda amount, to: f"paid {amount}")
    bus.signal("pre_pay").connect(
        lambda pay, amount, to: Ask(f"pay {amount} to {to}?"), role="guard", name="ask"
    )
    return pay


@pytest.fixture
def waiting(pay):
    """The id of a request."""
    with baggage(session="s-9"), pytest.raises(ApprovalPending) as pending:
        pay(500, "Ada\x1b[2J")
    return pending.value.id


def test_what_waits_is_listed_and_shown_in_full(hookbus, waiting):
    code, out, _ = hookbus("approvals")
    assert code == 0
    assert waiting in out and r"pay 500 to Ada\x1b[2J?" in out and "s-9" in out
    code, out, _ = hookbus("approvals", "show", waiting[:6])
    assert code == 0
    assert "amount" in out and "500" in out and "guard: ask" in out and "\x1b" not in out
    [case] = json.loads(hookbus("approvals", "list", "--json")[1])
    assert case["request"]["arguments"] == {"amount": 500, "to": "Ada\x1b[2J"}


def test_the_hint_names_the_store_if_the_list_was_given_one(hookbus, waiting):
    hint = "hookbus approvals show ID; approve ID; deny ID --reason WHY\n"
    assert hint in hookbus("approvals")[1]
    out = hookbus("approvals", "--approvals", "approvals.db")[1]
    for command in ("show ID", "approve ID", "deny ID --reason WHY"):
        assert f"{command} --approvals approvals.db" in " ".join(out.split())


def test_a_yes_lets_the_call_through_once(hookbus, pay, waiting):
    code, out, _ = hookbus("approvals", "approve", waiting, "--by", "ada")
    assert code == 0 and out.startswith("approved: pay 500")
    with baggage(session="s-9"):
        assert pay(500, "Ada\x1b[2J") == "paid 500"
        with pytest.raises(ApprovalPending):
            pay(500, "Ada\x1b[2J")
    used, _ = json.loads(hookbus("approvals", "--all", "--json")[1])
    assert used["answer"]["by"] == f"ada (typed by {Proof.of_account().name})"
    states = [case["state"] for case in json.loads(hookbus("approvals", "--all", "--json")[1])]
    assert states == ["used", "pending"]


def test_a_no_is_told_with_its_reason(hookbus, pay, waiting):
    assert hookbus("approvals", "deny", waiting, "--reason", "not her", "--by", "bo")[0] == 0
    with baggage(session="s-9"), pytest.raises(Exception, match="not her"):
        pay(500, "Ada\x1b[2J")
    assert hookbus("approvals")[1] == "no pending requests\n"
    code, _, err = hookbus("approvals", "approve", waiting)
    assert code == 2 and "is already denied" in err


def test_of_what_would_run_nothing_is_shortened_and_the_invisible_is_written_out(hookbus, pay):
    paths = "/srv/customers/live/data/all", "/srv/customers/test/data/all"
    told = [*paths, "a\u3164b\u202ec\ufe0f\U0001d159"]
    ids = []
    for to in told:
        with pytest.raises(ApprovalPending) as pending:
            pay(1, to)
        ids.append(pending.value.id)
    written = [*told[:2], r"a\u3164b\u202ec\ufe0f\ud834\udd59"]
    listed = "".join(hookbus("approvals")[1].split())
    for id, text in zip(ids, written):
        assert f"pay1to{text}?" in listed
        shown = hookbus("approvals", "show", id)[1]
        assert f'to = "{text}"' in shown and f"pay 1 to {text}?" in shown


def test_what_nobody_answered_in_time_is_counted_and_takes_no_answer(
    hookbus, pay, waiting, monkeypatch
):
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 86_401)
    assert hookbus("approvals")[1].splitlines() == [
        "no pending requests", "expired without an answer: 1"
    ]  # fmt: skip
    code, _, err = hookbus("approvals", "approve", waiting)
    assert code == 2 and "has expired" in err


def test_the_account_proves_a_name_and_no_typed_name_does(hookbus, folder, monkeypatch):
    own = Proof.of_account().name
    (folder / "people.toml").write_text(f'"{own}" = ["finance"]\nada = ["finance"]\n')
    (folder / "hookbus.toml").write_text('approvals = "approvals.db"\npeople = "people.toml"\n')
    store = Store(folder / "approvals.db", people=folder / "people.toml")
    bus = Bus()
    bus.approver(store)
    pay = hookable("pay", bus=bus, identity=lambda pay: "pay")(lambda amount: f"paid {amount}")
    two = Ask("pay?", roles=("finance",), approvals=2)
    bus.signal("pre_pay").connect(lambda pay: two, role="guard", name="ask", weak=False)
    with baggage(user="eve"), pytest.raises(ApprovalPending) as pending:
        pay(500)
    id = pending.value.id
    code, _, problem = hookbus("approvals", "approve", id, "--by", "ada")
    assert code == 2 and f"proves the name '{own}'" in problem
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "ada")
    code, out, _ = hookbus("approvals", "approve", id)
    assert code == 0
    assert f"approved by {own}; missing: 1 approval by a person with the role finance" in out
    shown = hookbus("approvals", "show", id)[1]
    assert f"approved by: {own}" in shown and "missing: 1 approval by a person" in shown
    store.answer(id, Approved("ada"), proof=Proof("ada", "test"))
    with baggage(user="eve"):
        assert pay(500) == "paid 500"


def test_a_new_token_is_printed_with_the_line_for_the_file(hookbus):
    lines = hookbus("approvals", "token")[1].splitlines()
    token, line = (each.partition(": ")[2] for each in lines)
    hashed = hashlib.sha256(token.encode()).hexdigest()
    assert len(token) >= 43 and line == f'token = "sha256:{hashed}"'


@pytest.mark.parametrize("given", [("approve",), ("deny",), ("approve", "--by", "ada")])
def test_a_variable_does_not_name_the_person(hookbus, waiting, monkeypatch, given):
    own = Proof.of_account().name
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "grace")
    command, *by = given
    assert hookbus("approvals", command, waiting, *by)[0] == 0
    [case] = json.loads(hookbus("approvals", "--all", "--json")[1])
    assert case["answer"]["by"] == (f"ada (typed by {own})" if by else own)


def test_a_rule_is_made_listed_and_revoked_on_the_command_line(
    hookbus, folder, pay, waiting, monkeypatch
):
    rule = ("--like", "to=A*", "--between", "amount=1..900", "--uses", "3")
    own = Proof.of_account().name
    assert hookbus("approvals", "approve", waiting, "--like", "too=A*", "--uses", "3")[0] == 2
    assert hookbus("approvals", "approve", waiting, *rule)[0] == 0
    with baggage(session="s-9"):
        assert pay(500, "Ada\x1b[2J") == "paid 500"
        assert pay(700, "Alan") == "paid 700"
    [listed] = json.loads(hookbus("approvals", "rules", "--json")[1])
    assert (listed["by"], listed["used"], listed["request"]) == (own, 1, waiting)
    assert "1 of 3" in hookbus("approvals", "rules")[1]
    monkeypatch.setenv("LOGNAME", "grace")
    assert hookbus("approvals", "revoke", listed["id"])[0] == 0
    assert Store(folder / "approvals.db").rules()[0].revoked_by == own
    assert "revoked" in hookbus("approvals", "rules")[1]
    with baggage(session="s-9"), pytest.raises(ApprovalPending):
        pay(700, "Alan")
