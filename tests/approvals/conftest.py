"""A bank whose `pay` is hooked, in each kind of function, and a guard that asks for larger sums."""

import asyncio
import json
import time

import pytest

from hookbus import Ask, Bus, hookable
from hookbus.approvals import Store

COLOURS = ("sync", "async", "generator", "async generator")


class Bank:
    """Calls `pay` in one colour, and keeps what the method really was called with."""

    def __init__(self, bus, colour):
        self.bus, self.colour, self.paid = bus, colour, []
        self.account = type("Account", (), {"pay": hookable("pay", bus=bus)(self._body())})()

    def _body(self):
        paid = self.paid

        def pay(self, to, amount=1):
            paid.append((to, amount))
            return amount

        async def pay_async(self, to, amount=1):
            paid.append((to, amount))
            return amount

        def pay_items(self, to, amount=1):
            paid.append((to, amount))
            yield amount

        async def pay_async_items(self, to, amount=1):
            paid.append((to, amount))
            yield amount

        bodies = dict(zip(COLOURS, (pay, pay_async, pay_items, pay_async_items)))
        body = bodies[self.colour]
        body.__name__ = "pay"
        return body

    def pay(self, *args, **kwargs):
        if self.colour == "sync":
            return self.account.pay(*args, **kwargs)
        if self.colour == "generator":
            return [*self.account.pay(*args, **kwargs)][-1]
        return asyncio.run(self.pay_async(*args, **kwargs))

    async def pay_async(self, *args, **kwargs):
        if self.colour == "async":
            return await self.account.pay(*args, **kwargs)
        return [item async for item in self.account.pay(*args, **kwargs)][-1]

    def around(self, change):
        """Connect an around that calls `change(to, amount)` before it goes on with what that gives.
        """
        connect = self.bus.signal("around_pay").connect_via()
        if self.colour == "sync":

            @connect
            def look(account, to, amount, call_next):
                return call_next(**change(to, amount))

        elif self.colour == "async":

            @connect
            async def look(account, to, amount, call_next):
                return await call_next(**change(to, amount))

        elif self.colour == "generator":

            @connect
            def look(account, to, amount, call_next):
                yield from call_next(**change(to, amount))

        else:

            @connect
            async def look(account, to, amount, call_next):
                async for item in call_next(**change(to, amount)):
                    yield item


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture(params=COLOURS)
def bank(request, bus):
    return Bank(bus, request.param)


@pytest.fixture
def asks(bus):
    """A guard asks about all that is above 100; this is what it was asked about."""
    judged = []

    @bus.signal("pre_pay").connect_via(role="guard")
    def large(account, to, amount):
        judged.append((to, amount))
        return Ask(f"pay {amount} to {to}?", code="large") if amount > 100 else None

    return judged


class Files:
    """Opens stores in files. The tests of fleets have the same fixtures for `fleet.approvals()`."""

    def __init__(self, folder, monkeypatch):
        self._folder, self._ahead, now = folder, [], time.time
        monkeypatch.setattr(time, "time", lambda: now() + sum(self._ahead))

    def open(self, name="approvals", *, people=None, **options):
        """Return the store with this name. `people` are all people of the store."""
        if people is not None:
            options["people"] = self._folder / "people.toml"
            self.set_people(people)
        return Store(self._folder / f"{name}.db", **options)

    def set_people(self, people):
        """Change the people and their roles."""
        lines = [f"{json.dumps(name)} = {json.dumps(roles)}\n" for name, roles in people.items()]
        (self._folder / "people.toml").write_text("".join(lines))

    def let_pass(self, seconds):
        """Put the clock forward."""
        self._ahead.append(seconds)

    def contents(self):
        """Return everything that is stored."""
        return b"".join(each.read_bytes() for each in self._folder.iterdir())


@pytest.fixture
def stores(tmp_path, monkeypatch):
    return Files(tmp_path, monkeypatch)


@pytest.fixture
def store(stores, request):
    """A store, with the people of the module if it has some."""
    return stores.open(people=getattr(request.module, "PEOPLE", None))
