"""A page for several people: each signs in with a token of their own, which proves the name."""

import json
import urllib.request

import pytest
from starlette.testclient import TestClient

from hookbus import Ask, Bus, HookError, baggage, hookable
from hookbus import page as pages
from hookbus.approvals import ApprovalPending, Approved, Between, Proof, Rule, Store
from hookbus.approvals._people import token_hash

from .conftest import HERE, TOKEN, Browser, serving

TOKENS = {"ada": "token-of-ada-4f1c9e", "bob": "token-of-bob-7d2a8b", "eve": "token-of-eve-1b6e3f"}
ROLES = {"ada": "finance", "bob": "finance", "eve": "sales"}


class Signed(Browser):
    """The browser of one person."""

    def __init__(self, app, token):
        TestClient.__init__(self, app, base_url=HERE, follow_redirects=False)
        self.path = self.get(f"/?token={token}").headers["location"]


def written(file, **tokens):
    """Write the people file."""
    lines = [
        f'[{name}]\nroles = ["{role}"]\ntoken = "{token_hash(tokens.get(name, TOKENS[name]))}"\n'
        for name, role in ROLES.items()
    ]
    file.write_text("".join(lines))
    return file


@pytest.fixture
def people(tmp_path):
    return written(tmp_path / "people.toml")


@pytest.fixture
def store(tmp_path, people):
    return Store(tmp_path / "approvals.db", people=people)


@pytest.fixture
def pay(store):
    bus = Bus()
    bus.approver(store)
    asked = Ask("pay?", roles=("finance",), approvals=2)
    bus.signal("pre_pay").connect(lambda pay: asked, role="guard", name="two", weak=False)
    return hookable("pay", bus=bus, identity=lambda pay: "the bank")(lambda amount: amount)


@pytest.fixture
def app(agency, store, people):
    return pages.app(agency.journal.path, approvals=store, people=people)


def parked(pay):
    with pytest.raises(ApprovalPending) as pending:
        pay(500)
    return pending.value.id


def test_each_person_answers_under_the_name_of_their_token(app, pay, store):
    id = parked(pay)
    ada, bob, eve = (Signed(app, token) for token in TOKENS.values())
    refused = eve.answers(id, answer="approve")
    assert refused.status_code == 409 and "'eve' has none of these roles" in refused.text
    assert ada.answers(id, answer="approve").json() == {"answered": id, "state": "pending"}
    assert ada.answers(id, answer="approve").status_code == 409
    assert bob.answers(id, answer="approve").json() == {"answered": id, "state": "approved"}
    assert store.get(id).answer.by == "ada, bob" and pay(500) == 500


def test_the_page_shows_who_has_approved_and_who_is_missing(app, pay, store):
    from hookbus.page._asked import Waiting

    id = parked(pay)
    Signed(app, TOKENS["ada"]).answers(id, answer="approve")
    [shown] = Waiting(store).shown()
    assert list(shown["approved_by"]) == ["ada"]
    assert list(shown["missing"]) == ["1 approval by a person with the role finance"]
    json.dumps(shown)


def test_the_page_lists_the_standing_approvals_that_are_valid(tmp_path):
    from hookbus.page._asked import Waiting

    bus, store = Bus(), Store(tmp_path / "approvals.db")
    bus.approver(store)
    bus.signal("pre_pay").connect(
        lambda pay, amount: Ask(f"pay {amount}?"), role="guard", name="asks", weak=False
    )
    pay = hookable("pay", bus=bus, identity=lambda pay: "the bank")(lambda amount: amount)
    waiting = Waiting(store)
    with baggage(user="eve"):
        id = parked(pay)
        assert waiting.rules() == []
        rule = Rule({"amount": Between(0, 600)}, uses=2)
        store.answer(id, Approved("ada", rule=rule), proof=Proof("ada", "the page"))
        [kept] = store.rules()
        [shown] = waiting.rules()
        assert pay(500) == 500 and pay(600) == 600
    assert json.loads(json.dumps(shown)) == {
        "id": kept.id, "by": "ada", "used": 0, "uses": 2, "until": None, "question": "pay 500?",
        "arguments": f"amount={Between(0, 600)!r}",
    }  # fmt: skip
    [used] = waiting.rules()
    assert used == {**shown, "used": 1}
    store.revoke(kept.id, by="ada")
    assert waiting.rules() == []


@pytest.mark.parametrize("token", ["", TOKEN, "ada", token_hash(TOKENS["ada"]), "YOUR_TOKEN"])
def test_no_other_token_is_let_in(app, token):
    answer = TestClient(app, base_url=HERE).get("/", params={"token": token})
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


def test_an_old_token_and_the_browsers_that_it_let_in_are_refused(app, pay, people, store):
    id, ada = parked(pay), Signed(app, TOKENS["ada"])
    written(people, ada="a-new-token-of-ada")
    assert ada.answers(id, answer="approve").status_code == 403
    assert TestClient(app, base_url=HERE).get(f"/?token={TOKENS['ada']}").status_code == 403
    assert store.get(id).approved_by == ()
    assert Signed(app, "a-new-token-of-ada").answers(id, answer="approve").status_code == 200


def test_a_broken_file_of_people_lets_nobody_in_and_says_why(app, pay, people):
    id, ada = parked(pay), Signed(app, TOKENS["ada"])
    people.write_text("ada = [")
    refused = ada.answers(id, answer="approve")
    assert refused.status_code == 403 and "is not valid TOML" in refused.text


def remove(people):
    text = people.read_text()
    people.write_text(text[text.index("[bob]") :])


def break_toml(people):
    people.write_text("ada = [")


@pytest.mark.parametrize("harm", [remove, break_toml])
def test_a_stream_ends_before_it_sends_more_to_a_person_whose_token_is_no_longer_valid(
    app, agency, people, harm
):
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with serving(app) as address:
        with opener.open(f"{address}/?token={TOKENS['ada']}") as page:
            inside = page.url
        agency.run("before")
        with opener.open(f"{inside}stream", timeout=30) as stream:
            assert stream.readline() == b"event: calls\n"
            harm(people)
            agency.run("for nobody", session=harm.__name__)
            for line in stream:  # it ends
                assert harm.__name__.encode() not in line


def test_a_page_with_one_token_proves_no_name(agency, store, pay):
    id = parked(pay)
    browser = Browser(pages.app(agency.journal.path, token=TOKEN, approvals=store))
    refused = browser.answers(id, answer="approve")
    assert refused.status_code == 409 and "is not proven" in refused.json()["problem"]
    assert browser.answers(id, answer="deny").json()["state"] == "denied"


def test_a_page_has_one_token_or_people(agency, people, store):
    with pytest.raises(HookError, match="not both"):
        pages.app(agency.journal.path, token=TOKEN, people=people, approvals=store)
    with pytest.raises(HookError, match="token= must be"):
        pages.app(agency.journal.path, approvals=store)
    with pytest.raises(HookError, match="people= needs approvals="):
        pages.app(agency.journal.path, people=people)
