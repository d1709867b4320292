"""What tests of the journal share: a file, and a bank with hooked calls."""

import asyncio

import pytest

from hookbus import Block, Bus, hookable


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


class Bank:
    """Hooks of every colour on a bus of their own; `ran` says which bodies did, `during` is called
    in them.
    """

    def __init__(self, **options):
        self.bus = bus = Bus(**options)
        self.ran, self.during = [], lambda to: None
        bank = self

        class Teller:
            @hookable(bus=bus)
            def pay(self, to, amount=1):
                bank.ran.append(to)
                bank.during(to)
                if to == "nobody":
                    raise LookupError("a secret in a text")
                return amount

            @hookable("pay", bus=bus)
            async def pay_async(self, to, amount=1):
                await asyncio.sleep(0)
                return Teller.pay.__wrapped__(self, to, amount)

            @hookable("pay", bus=bus)
            def pay_stream(self, to, amount=1):
                got = yield Teller.pay.__wrapped__(self, to, amount)
                yield got
                return "the end"

            @hookable("pay", bus=bus)
            async def pay_async_stream(self, to, amount=1):
                got = yield Teller.pay.__wrapped__(self, to, amount)
                yield got

        self.teller = Teller()

        @bus.signal("pre_pay").connect_via(role="guard")
        def not_eve(teller, to):
            return Block("eve is not paid") if to == "eve" else None

    def pay(self, to, amount=1, way="pay"):
        """Make one call to its end, whatever its colour."""
        made = getattr(self.teller, way)(to, amount)
        if way == "pay_async":
            return asyncio.run(made)
        if way == "pay_stream":
            return next(iter(list(made)))
        if way == "pay_async_stream":
            return asyncio.run(_items(made))[0]
        return made


async def _items(stream):
    return [item async for item in stream]


WAYS = ("pay", "pay_async", "pay_stream", "pay_async_stream")


@pytest.fixture
def bank():
    return Bank()
