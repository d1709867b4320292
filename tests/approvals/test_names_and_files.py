"""A name that does not lead to the sender is no identity; placeholders never run; files are its
owner's alone.
"""

import functools
import os
import stat
import types

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, hookable
from hookbus.approvals import ApprovalPending, Approved, Store
from hookbus.journal import Journal


def pay(to, password=""):
    return to, password


class Bank:
    """A name that classes of a factory give themselves, too."""


def asking(approver):
    bus = Bus()
    bus.approver(approver)
    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
    return bus


def wrapped(bus, account):
    """Return a function of a factory that says it is the one of the module."""

    @hookable("pay", bus=bus)
    @functools.wraps(pay)
    def inner(to, password=""):
        return account

    return inner


def renamed(bus, account):
    """Return the method of a class of a factory that has the name of one of the module."""

    class Own:
        __qualname__ = "Bank"

        @hookable("pay", bus=bus)
        def pay(self, to):
            return account

    return Own().pay


def made(bus, account):
    """Return the method of a class that was made by `type`, under a name that nothing has."""
    return type("Nobody", (), {"pay": hookable("pay", bus=bus)(lambda self, to: account)})().pay


def copied(bus, account):
    """Return a copy of a factory's function, whose code has the name of one of the module."""

    def inner(to):
        return account

    code = inner.__code__.replace(co_name="pay", co_qualname="pay")
    function = types.FunctionType(code, globals(), "pay", None, inner.__closure__)
    return hookable("pay", bus=bus)(function)


@pytest.mark.parametrize("factory", [wrapped, renamed, made, copied])
def test_what_a_factory_makes_is_known_by_the_object_whatever_it_calls_itself(factory, stores):
    asked = []
    bus = asking(lambda request: asked.append(request) or Approved("grace", remember=60))
    giro, savings = factory(bus, "giro"), factory(bus, "savings")
    assert [giro("ann"), savings("ann"), giro("ann")] == ["giro", "savings", "giro"]
    assert len(asked) == 2
    store = stores.open()
    with pytest.raises(HookBlocked, match="other processes cannot identify"):
        factory(asking(store), "giro")("ann")
    assert store.pending() == []


EDITS = {
    "in another argument": lambda shown: {"to": shown["password"], "password": shown["password"]},
    "in a longer text": lambda shown: {"to": "ann", "password": shown["password"] + "!"},
    "in a list": lambda shown: {"to": [shown["password"]], "password": "new"},
    "as a key": lambda shown: {"to": {shown["password"]: 1}, "password": "new"},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_placeholder_in_another_place_is_refused_and_nothing_runs(edit, stores):
    store = stores.open()
    bus = asking(store)
    bus.redact(names="password")
    ran = []
    named = hookable("pay", bus=bus, identity=lambda sender: "pay")
    tool = named(lambda to, password: ran.append(to))
    with pytest.raises(ApprovalPending) as pending:
        tool("ann", "hunter22")
    [request] = store.pending()
    with pytest.raises(HookError, match="placeholder '<redacted>'"):
        store.answer(pending.value.id, Approved("grace", arguments=edit(request.arguments)))
    assert store.get(request.id).state == "pending" and not ran


def test_a_pattern_that_hides_a_part_is_put_back_where_it_was_left():
    bus = asking(lambda request: Approved(
        "grace", arguments={"to": ["bob", *request.arguments["to"][1:]], "password": ""}
    ))  # fmt: skip
    bus.redact(patterns=r"\d{4}")
    assert hookable("pay", bus=bus)(pay)(["ann", "card 4711 of ann"]) == (
        ["bob", "card 4711 of ann"], ""
    )  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_files_of_stores_and_journals_are_for_their_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        link = tmp_path / "link.db"
        link.symlink_to(tmp_path / "store.db")
        bus = asking(Store(link))
        with Journal(tmp_path / "journal.db") as journal:
            journal.attach(bus)
            with pytest.raises(ApprovalPending):
                hookable("pay", bus=bus)(pay)("ann")
            journal.flush()
            files = [each for each in tmp_path.iterdir() if not each.is_symlink()]
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in files}
    finally:
        os.umask(before)
    assert {"store.db", "journal.db", "journal.db-wal"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_a_store_whose_file_is_gone_blocks_and_makes_no_other(tmp_path):
    path = tmp_path / "approvals.db"
    bus = asking(Store(path))
    for each in tmp_path.iterdir():
        each.unlink()
    with pytest.raises(HookBlocked, match="cannot be opened"):
        hookable("pay", bus=bus)(pay)("ann")
    assert not path.exists()
