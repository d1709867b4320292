"""A program that makes a journal and a store write everything their formats have."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hookbus import Ask, Block, Bus, HookBlocked, baggage, hookable
from hookbus.approvals import Approved, Store
from hookbus.journal import Journal

SAMPLES: Final = Path(__file__).parent / "samples"
BUS: Final = Bus(values=True)
A_CENTURY: Final = 3e9
READER: Final = "exporter"
"""The name of the cursor that has committed some of the records."""


class Account:
    """An account whose larger payments need an approval."""

    @hookable("pay", bus=BUS)
    def pay(self, to: str, amount: int) -> str:
        if to == "nobody":
            raise LookupError(to)
        return f"paid {amount} to {to}"

    @hookable("list_payments", bus=BUS)
    def list_payments(self) -> Iterator[str]:
        yield "rent"
        yield "food"


@BUS.signal("pre_pay").connect_via(Account, priority=1)
def trim(account: Account, to: str) -> dict[str, str] | None:
    return {"to": to.strip()} if to != to.strip() else None


@BUS.signal("pre_pay").connect_via(Account, role="guard")
def no_strangers(account: Account, to: str) -> Block | None:
    if to == "eve":
        return Block("eve is not in the address book", code="stranger", details={"to": to})
    return None


@BUS.signal("pre_pay").connect_via(Account, role="guard")
def large_sums(account: Account, to: str, amount: int) -> Ask | None:
    if amount > 1000:
        return Ask(f"pay {amount} to {to}?", code="huge", roles=("finance",), approvals=2)
    return Ask(f"pay {amount} to {to}?", code="large") if amount > 100 else None


@BUS.signal("post_pay").connect_via(Account, role="observe")
def archive(account: Account, result: str) -> None:
    if "disk" in result:
        raise OSError("disk full")


ACCOUNT: Final = Account()
CALLS: Final = {
    "pending": ("ann", 200),
    "approved": ("ann", 300),
    "denied": ("ann", 400),
    "used": ("ann", 500),
    "remembered": ("ann", 600),
    "edited": ("ann", 700),
}
"""The payments of the store, by what the sample says about each."""

PEOPLE: Final = {"grace": ["finance"], "bob": ["finance"]}
SHARED: Final = ("ann", 5000)
"""A payment that two people must approve, of whom one has; in samples of format 4 and later."""


def store_at(path: Path) -> Store:
    """Open a store whose requests and answers stay valid."""
    return Store(path, expires=A_CENTURY, answer_within=A_CENTURY, people=PEOPLE)


def pay(to: str, amount: int) -> str:
    """Pay, and return what the caller gets: a result, or why the call was blocked."""
    with baggage(session="s-1", user="ada"):
        try:
            return ACCOUNT.pay(to, amount)
        except HookBlocked as blocked:
            return blocked.reason


@contextmanager
def approved_by(store: Store) -> Iterator[None]:
    """Let a store answer the guard's question."""
    BUS.approver(store)
    try:
        yield
    finally:
        BUS.approver(None)
        store.close()


def work(journal: Journal) -> None:
    """Make calls that leave records of every type."""
    detach = journal.attach(BUS, turns=True)
    undo = journal.durable("pay", bus=BUS)
    BUS.approver(lambda request: Approved("ada"))
    try:
        pay(" ann ", 10)
        pay("disk", 10)
        pay("eve", 10)
        pay("ann", 200)
        list(ACCOUNT.list_payments())
        with suppress(LookupError):
            pay("nobody", 10)
        journal.flush()
    finally:
        BUS.approver(None)
        undo()
        detach()
