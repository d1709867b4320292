"""A Postgres for the tests of fleets, and a fleet of its own for each test."""

import itertools

import pytest

from hookbus.fleet import Fleet
from hookbus.journal import Journal

from .postgres import Postgres

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgres():
    server = Postgres()
    yield server
    server.remove()


class Made:
    """A fleet in a schema of its own."""

    def __init__(self, postgres):
        self.server, self.schema = postgres, f"fleet_{next(NUMBERS)}"
        self._opened = []
        self.make()

    def make(self):
        owner = self.server.url("owner")
        Fleet.make(owner, schema=self.schema, agents="agent", operators="operator")

    def open(self, role, **options):
        """Return a fleet as a role. It is closed after the test."""
        self._opened.append(Fleet(self.server.url(role), schema=self.schema, **options))
        return self._opened[-1]

    def close(self):
        while self._opened:
            self._opened.pop().close()


@pytest.fixture
def made(postgres):
    fleet = Made(postgres)
    yield fleet
    fleet.close()


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "journal.db") as opened:
        yield opened
