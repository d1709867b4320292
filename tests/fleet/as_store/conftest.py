"""The fixtures of the stores of `tests/approvals`, here with `fleet.approvals()`."""

import inspect

import pytest

from hookbus.fleet import Fleet

from ...approvals.conftest import bus  # noqa: F401 - a fixture that the checks use

MOMENTS = ("asked", "answer_by", "lapsed", "answered", "until", "used")
MOMENTS_OF_RULES = ("made", "until", "revoked")


class Stores:
    """Opens the approvals of a fleet in place of each `approvals.Store`, as the role of a portal,
    which can prove the name of any person.
    """

    def __init__(self, postgres, made):
        self._postgres, self._schemas, self._opened = postgres, {}, []
        self._made = made  # the schemas of earlier tests, with their people

    def open(self, name="approvals", *, people=None, **options):
        """Return the approvals with this name. `people` are all people of the fleet."""
        if name not in self._schemas:
            self._schemas[name] = schema = f"store_{len(self._schemas)}"
            self._empty(schema, people or {})
        elif people is not None:
            self.set_people(people)
        fleet = Fleet(self._postgres.url("portal"), schema=self._schemas[name])
        self._opened.append(fleet)
        return fleet.approvals(**options)

    def set_people(self, people):
        """Change the people and their roles."""
        for schema in self._schemas.values():
            self._make(schema, people)

    def _make(self, schema, people):
        Fleet.make(self._postgres.url("owner"), schema=schema, portals="portal", people=people)
        self._made[schema] = people

    def let_pass(self, seconds):
        """Let so many seconds pass for the server."""
        for schema in self._schemas.values():
            for table, moments in {"requests": MOMENTS, "rules": MOMENTS_OF_RULES}.items():
                moved = (f"{each} = {each} - {seconds} * interval '1 s'" for each in moments)
                self._postgres.run_sql(f"UPDATE {schema}.{table} SET {', '.join(moved)}")

    def contents(self):
        """Return everything that is stored."""
        rows = [self._postgres.run_sql(f"SELECT to_json({table})::text FROM {schema}.{table}")
                for schema in self._schemas.values() for table in self._tables(schema)]  # fmt: skip
        return repr(rows).encode()

    def close(self):
        for each in self._opened:
            each.close()

    def _tables(self, schema):
        find = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
        return [name for (name,) in self._postgres.run_sql(find, values=[schema])]

    def _empty(self, schema, people):
        """Make a fleet, or empty one that earlier tests have used, which is much faster."""
        if schema in self._made:
            self._postgres.run_sql(f"DELETE FROM {schema}.requests; DELETE FROM {schema}.rules")
        if self._made.get(schema) != people:
            self._make(schema, people)


@pytest.fixture(scope="session")
def made_stores():
    """The schemas that tests have made, with their people."""
    return {}


@pytest.fixture
def stores(postgres, made_stores):
    opened = Stores(postgres, made_stores)
    yield opened
    opened.close()


@pytest.fixture
def store(stores, request):
    """The approvals of a fleet, with the people of the module if it has some."""
    return stores.open(people=getattr(request.module, "PEOPLE", None))


def checks_of(module):
    """Return the contents of a module of tests, without the tests that open no store."""
    return {name: value for name, value in vars(module).items() if _is_for_fleets(name, value)}


def _is_for_fleets(name, value):
    if not name.startswith("test_"):
        return not name.startswith("__")
    return not {"store", "stores"}.isdisjoint(inspect.signature(value).parameters)
