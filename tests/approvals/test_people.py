"""People with roles: several different people approve a call, and each name is proven."""

import hmac
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, baggage, hookable
from hookbus.approvals import (
    AlreadyAnswered,
    ApprovalPending,
    Approved,
    Denied,
    Inbox,
    Proof,
    Store,
    terminal,
)

PEOPLE = {"ada": ["finance"], "bob": ["finance", "legal"], "eve": ["sales"], "mia": ["legal"]}
RACES = 999 if os.environ.get("HOOKBUS_LONG") else 30
TWO = Ask("pay?", roles=("finance",), approvals=2)


def bank(store, *asks):
    """Return `pay`, about which a guard asks for each of `asks`; each call starts anew."""
    bus = Bus()
    bus.approver(store)
    for number, ask in enumerate(asks):
        bus.signal("pre_pay").connect(
            lambda pay, ask=ask: ask, role="guard", name=f"guard {number}", weak=False
        )
    pay = hookable("pay", bus=bus, identity=lambda pay: "the bank")(lambda amount: amount)
    pay.bus = bus
    return pay


def parked(pay, amount=500, **user):
    with baggage(**user), pytest.raises(ApprovalPending) as pending:
        pay(amount)
    return pending.value.id


def proven(name):
    return {"proof": Proof(name, "test")}


def approve(store, id, *names):
    for name in names:
        store.answer(id, Approved(name), **proven(name))


def test_two_people_with_the_role_let_the_call_run_once(store):
    pay = bank(store, TWO)
    id = parked(pay)
    assert store.get(id).missing == ("2 approvals by people with the role finance",)
    approve(store, id, "ada")
    case = store.get(id)
    assert case.state == "pending" and case.approved_by == ("ada",)
    assert case.missing == ("1 approval by a person with the role finance",)
    assert parked(pay) == id, "one approval is not enough"
    approve(store, id, "bob")
    assert store.get(id).answer == Approved("ada, bob") and store.get(id).missing == ()
    assert pay(500) == 500
    assert parked(pay) != id


def test_one_denial_ends_it_even_after_an_approval(store):
    pay = bank(store, TWO)
    id = parked(pay)
    approve(store, id, "ada")
    store.answer(id, Denied("eve", "not today"))
    with pytest.raises(AlreadyAnswered, match="already denied by eve"):
        approve(store, id, "bob")
    with pytest.raises(HookBlocked, match="denied by eve: not today"):
        pay(500)


def test_the_same_person_counts_once(store):
    id = parked(bank(store, TWO))
    approve(store, id, "bob")
    with pytest.raises(AlreadyAnswered, match="already approved by bob: another person"):
        approve(store, id, "bob")
    assert store.get(id).state == "pending"


@pytest.mark.parametrize(
    "name, problem",
    [("eve", "has none of these roles"), ("zoe", "'zoe' is not one of the people"),
     ("Ada", "'Ada' is not one of the people"), ("аda", "is not one of the people")],
)  # fmt: skip
def test_who_has_no_role_is_refused(store, name, problem):
    id = parked(bank(store, TWO))
    with pytest.raises(HookError, match=problem):
        approve(store, id, name)
    assert store.get(id).approved_by == ()


@pytest.mark.parametrize(
    "user", ["ada", "ADA", " ada", "ａda", "ada\u200b", "ada\ufe0f", "a\0da", "\u2060 ada",
     "ada\u3164", "a\tda"],
    ids=ascii,
)  # fmt: skip
def test_the_user_who_made_the_call_never_counts(store, user):
    id = parked(bank(store, TWO), user=user)
    with pytest.raises(HookError, match="'ada' made the call"):
        approve(store, id, "ada")
    assert store.get(id).approved_by == ()


@pytest.mark.parametrize("user", ["", " ", "\u200b", None, 7, ["ada"], {"name": "ada"}], ids=ascii)
def test_a_user_without_a_name_makes_no_call_that_needs_people(store, user):
    pay = bank(store, TWO)
    with baggage(user=user), pytest.raises(HookBlocked, match="is not a name: wrap it in"):
        pay(500)
    assert store.pending() == []


def test_people_whose_names_look_alike_are_refused(tmp_path):
    with pytest.raises(HookError, match="look alike"):
        Store(tmp_path / "approvals.db", people={"ada": ["finance"], "ada\ufe0f": ["finance"]})


def test_the_user_who_made_the_call_never_counts_where_their_name_is_redacted(store):
    pay = bank(store, TWO)
    pay.bus.redact(names=("user",))
    id = parked(pay, user="ada")
    assert "ada" not in json.dumps(store.get(id).request.baggage)
    with pytest.raises(HookError, match="made the call"):
        approve(store, id, "ada")


def test_without_a_user_the_account_of_the_process_made_the_call(stores):
    own = Proof.of_account().name
    store = stores.open(people={own: ["finance"]})
    id = parked(bank(store, Ask("pay?", roles=("finance",))))
    with pytest.raises(HookError, match="made the call"):
        approve(store, id, own)


def test_an_approval_for_any_user_is_not_one_for_the_approver(store):
    pay = bank(store, Ask("pay?", roles=("finance",), bind=()))
    id = parked(pay, user="eve")
    approve(store, id, "ada")
    assert parked(pay, user="ada") != id
    with baggage(user="eve"):
        assert pay(500) == 500


def test_a_name_that_is_only_typed_does_not_count(store):
    id = parked(bank(store, TWO))
    with pytest.raises(HookError, match="the name 'ada' is not proven"):
        store.answer(id, Approved("ada"))
    with pytest.raises(HookError, match="by 'ada', but the test proves the name 'eve'"):
        store.answer(id, Approved("ada"), **proven("eve"))
    assert store.get(id).approved_by == ()


def test_each_guard_gets_the_people_that_it_requires(store):
    pay = bank(store, TWO, Ask("lawful?", roles=("legal",)), Ask("sure?"))
    id = parked(pay)
    approve(store, id, "ada", "bob")
    assert store.get(id).state == "approved", "bob has both roles"
    id = parked(pay, 600)
    approve(store, id, "ada", "mia")
    assert store.get(id).missing == ("1 approval by a person with the role finance",)


def test_who_has_lost_the_role_since_does_not_count(stores):
    store = stores.open(people={"ada": ["finance"], "bob": ["finance"]})
    pay = bank(store, TWO)
    id = parked(pay)
    approve(store, id, "ada", "bob")
    stores.set_people({"ada": ["finance"], "bob": ["sales"]})
    assert store.get(id).state == store.history()[0].state == "expired"
    assert parked(pay) != id


def test_people_who_approve_together_approve_one_and_the_same_call(store):
    id = parked(bank(store, TWO))
    for more in ({"arguments": {"amount": 1}}, {"remember": 60.0}):
        with pytest.raises(HookError, match=f"leave out {next(iter(more))}="):
            store.answer(id, Approved("ada", **more), **proven("ada"))
    pay = bank(store, Ask("pay?", roles=("finance",)))
    edited = Approved("ada", arguments={"amount": 7})
    store.answer(parked(pay, 900), edited, **proven("ada"))
    assert pay(900) == 7


@pytest.mark.parametrize(
    "more", [{"roles": ("legal",), "approvals": 2}, {"roles": ("legal",)}, {"approvals": 2},
             {"code": "large"}],
    ids=["both", "roles", "approvals", "code"],
)  # fmt: skip
@pytest.mark.parametrize("first", [{}, {"roles": ("finance",)}], ids=["anybody", "finance"])
def test_an_edit_needs_the_approval_that_the_edited_call_needs(store, first, more):
    pay = bank(store)
    pay.bus.signal("pre_pay").connect(
        lambda pay, amount: Ask("pay?", **(more if amount > 1000 else first)),
        role="guard", name="by amount", weak=False,
    )  # fmt: skip
    id = parked(pay, 50)
    store.answer(id, Approved("ada", arguments={"amount": 10**6}), **proven("ada"))
    large = parked(pay, 50)
    assert large != id and store.get(large).request.arguments == {"amount": 10**6}
    assert store.get(large).state == "pending"
    approve(store, large, *(("mia", "bob") if more.get("approvals") else ("mia",)))
    assert pay(10**6) == 10**6


@pytest.mark.parametrize(
    "approver", [lambda request: Approved("ada"), Inbox, "store", terminal],
    ids=["function", "inbox", "store", "terminal"],
)  # fmt: skip
def test_an_approver_that_cannot_tell_people_apart_blocks_the_call(stores, approver):
    if approver == "store":
        approver = stores.open()
    pay = bank(approver() if approver is Inbox else approver, TWO)
    with pytest.raises(HookBlocked, match="requires roles or several approvals, which"):
        pay(500)


def test_what_is_required_is_a_part_of_the_approval(store):
    approve(store, parked(bank(store, Ask("pay?", roles=("legal",)))), "mia")
    parked(bank(store, Ask("pay?", roles=("finance",))))
    parked(bank(store, Ask("pay?")))


def test_a_signed_webhook_proves_the_name(tmp_path):
    people = {"ada": {"roles": ["finance"], "secret": "s" * 32}, "bob": ["finance"]}
    store = Store(tmp_path / "approvals.db", people=people)
    id = parked(bank(store, Ask("pay?", roles=("finance",))))

    def sent(secret="s" * 32, **given):
        body = json.dumps({"id": id, "by": "ada", "answer": "approve", **given}).encode()
        return body, f"sha256={hmac.digest(secret.encode(), body, 'sha256').hex()}"

    body, signature = sent()
    for forged in (sent("t" * 32), sent(by="bob"), (body + b" ", signature), (body, "sha256=")):
        with pytest.raises(HookError, match="the signature does not match a key of"):
            store.answer_signed(*forged)
    with pytest.raises(HookError, match="a JSON object with id, by and answer"):
        store.answer_signed(b"[]", signature)
    assert store.get(id).state == "pending"
    store.answer_signed(body, signature)
    assert store.get(id).approved_by == ("ada",)
    with pytest.raises(AlreadyAnswered):
        store.answer_signed(body, signature)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("ada = 'finance'", "'ada' needs a list of roles"),
        ("ada = [1]", "'ada' needs a list of roles"),
        ("[ada]\nrole = ['finance']", "unknown key 'role'; did you mean 'roles'"),
        ("[ada]\nroles = []\ntoken = 'hunter2'", "the token of 'ada' must be a hash"),
        ("[ada]\nroles = []\nsecret = 'short'", "the secret of 'ada' must be a random string"),
        ("ada = []\nAda = []\n", "'ada' and 'Ada' look alike"),
        ("'ada, bob' = []", "is not a name"),
        ("ada = [", "is not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_of_people_is_refused_at_the_start(tmp_path, text, problem):
    file = tmp_path / "people.toml"
    file.write_text(text)
    with pytest.raises(HookError, match=problem) as error:
        Store(tmp_path / "approvals.db", people=file)
    assert str(file) in str(error.value)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_file_of_people_that_others_can_write_is_refused_also_later(tmp_path):
    file = tmp_path / "people.toml"
    file.write_text('ada = ["finance"]\n')
    store = Store(tmp_path / "approvals.db", people=file)
    id = parked(bank(store, Ask("pay?", roles=("finance",))))
    file.chmod(0o666)
    with pytest.raises(HookError, match="world-writable"):
        approve(store, id, "ada")
    with pytest.raises(HookError, match="world-writable"):
        Store(tmp_path / "approvals.db", people=file)


@pytest.mark.parametrize(
    "wrong",
    [{"roles": "finance"}, {"roles": 3}, {"roles": ("",)},
     {"approvals": 0}, {"approvals": True}, {"approvals": "2"}],
)  # fmt: skip
def test_an_ask_with_a_wrong_requirement_is_refused(wrong):
    with pytest.raises(HookError, match=rf"Ask\({next(iter(wrong))}="):
        Ask("pay?", **wrong)


def test_in_races_of_two_approvers_each_person_counts_once(store):
    pay = bank(store, TWO)

    def answered(id, name, answer):
        try:
            store.answer(id, answer, **proven(name))
        except AlreadyAnswered:
            return 0
        return 1

    pairs = {
        "two people": (("ada", Approved("ada")), ("bob", Approved("bob")), 2, "approved"),
        "one person": (("ada", Approved("ada")), ("ada", Approved("ada")), 1, "pending"),
        "a denial": (("ada", Approved("ada")), ("bob", Denied("bob", "no")), None, "denied"),
    }
    with ThreadPoolExecutor(2) as pool:
        for number in range(RACES):
            one, other, count, state = [*pairs.values()][number % 3]
            id = parked(pay, number)
            racing = [pool.submit(answered, id, *each) for each in (one, other)]
            won = sum(each.result() for each in racing)
            assert won == count or (count is None and won in (1, 2))
            assert store.get(id).state == state
            if state == "approved":
                assert pay(number) == number
                assert parked(pay, number) != id
