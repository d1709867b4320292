"""The fixtures of the stores of `tests/approvals`, here with `fleet.approvals()`."""

import inspect
import secrets

import pytest

from hookbus.fleet import Fleet

from ...approvals.conftest import bus  # noqa: F401 - a fixture that the checks use

MOMENTS = ("asked", "answer_by", "lapsed", "answered", "until", "used")


class Stores:
    """Opens the approvals of a fleet in place of each `approvals.Store`, as a role of operators."""

    def __init__(self, postgres):
        self._postgres, self._schemas, self._opened = postgres, {}, []

    def open(self, name="approvals", **options):
        """Return the approvals with this name."""
        if name not in self._schemas:
            self._schemas[name] = schema = f"store_{len(self._schemas)}"
            Fleet.make(self._postgres.url("owner"), schema=schema, operators="operator")
            self._empty(schema)
        fleet = Fleet(self._postgres.url("operator"), schema=self._schemas[name])
        self._opened.append(fleet)
        return fleet.approvals(**options)

    def let_pass(self, seconds):
        """Let so many seconds pass for the server."""
        moved = ", ".join(f"{each} = {each} - {seconds} * interval '1 s'" for each in MOMENTS)
        for schema in self._schemas.values():
            self._postgres.run_sql(f"UPDATE {schema}.requests SET {moved}")

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

    def _empty(self, schema):
        """Make a new fleet of a schema that earlier tests have used, which is much faster."""
        tables = [f"{schema}.{name}" for name in self._tables(schema) if name != "fleet"]
        self._postgres.run_sql(f"TRUNCATE {', '.join(tables)}")
        key = [secrets.token_bytes(32)]
        self._postgres.run_sql(f"UPDATE {schema}.fleet SET key = %s", values=key)


@pytest.fixture
def stores(postgres):
    opened = Stores(postgres)
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
