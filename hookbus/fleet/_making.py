"""Create the schema of a fleet, and grant rights to its roles."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from .. import HookError
from ..approvals._people import People
from ..approvals._required import name_mark
from ._connecting import Server

if TYPE_CHECKING:
    from psycopg import Connection

    from .._approval.people import Person

AnyPeople = str | os.PathLike[str] | Mapping[str, Any]

VERSION: Final = 1

FOR_AGENTS: Final = (
    "about", "publish", "beat", "read_words", "read_key", "ask", "use_rule", "count_call",
    "reserve", "settle",
)  # fmt: skip
"""The functions that an agent's role may execute. An operator's role may execute all functions
except `FOR_PORTALS`.
"""

FOR_PORTALS: Final = "answer_for_others"
"""A portal's role may execute this function and all functions of an operator."""

_SCHEMA: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")


def check_schema(schema: Any) -> str:
    """Return the value if it is a valid name of a schema.

    Raises:
        HookError: if the value is not a valid name of a schema.
    """
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
        raise HookError(
            f"schema={schema!r:.40} must be lower-case letters, digits and _, such as 'hookbus'"
        )
    return schema


def make(
    url: str, schema: str, agents: str | Iterable[str], operators: str | Iterable[str],
    portals: str | Iterable[str], people: AnyPeople | None,
) -> None:  # fmt: skip
    """Create or update a fleet in one transaction.

    Raises:
        HookError: if an argument is invalid, or if the server rejects the change.
    """
    names = {"agents": _names("agents", agents), "operators": _names("operators", operators)}
    names["portals"] = _names("portals", portals)
    masters = [*names["operators"], *names["portals"]]
    if both := sorted({*names["agents"]} & {*masters}):
        raise HookError(f"the role {both[0]!r} cannot be an agent and an operator")
    listed = None if people is None else People(people).read()
    server = Server(url, check_schema(schema))
    try:
        with server.connected() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('hookbus fleet'))")
            _check_roles(connection, names["agents"], masters)
            _check_tables(connection, server)
            connection.execute("SET LOCAL client_min_messages = warning")
            for file in ("tables.sql", "approvals.sql", "functions.sql"):
                text = files("hookbus.fleet").joinpath(file).read_text(encoding="utf-8")
                connection.execute(text.replace("@schema@", f'"{schema}"').encode())
            _check_numbers(connection, server)
            _insert_version(connection, schema)
            for role in names["agents"]:
                _grant(connection, schema, role, FOR_AGENTS)
            for role in masters:
                _grant(connection, schema, role, None, is_portal=role in names["portals"])
            if listed is not None:
                _write_people(connection, schema, listed.values())
    finally:
        server.close()


def _names(option: str, roles: str | Iterable[str]) -> list[str]:
    listed = [roles] if isinstance(roles, str) else roles
    found: list[Any] = list(listed) if isinstance(listed, Iterable) else [None]
    if not all(isinstance(each, str) and each and "\0" not in each for each in found):
        raise HookError(f"{option}={roles!r:.40} must be one or more names of roles")
    return found


def _check_roles(
    connection: Connection[tuple[Any, ...]], agents: list[str], operators: list[str]
) -> None:
    """Raise HookError for a role that does not exist, and for an agent's role that has the rights
    of an operator or of the owner.
    """
    for role in (*agents, *operators):
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
            raise HookError(f"the server has no role {role!r}: create it first")
    for role in agents:
        found = connection.execute(
            "SELECT rolname FROM pg_roles WHERE (rolname = ANY (%s) OR rolname = current_user) "
            "AND pg_has_role(%s::name, oid, 'MEMBER')",
            [operators, role],
        ).fetchone()
        if found:
            raise HookError(
                f"the role {role!r} cannot be an agent's: it has the rights of {found[0]!r}"
            )


def _check_tables(connection: Connection[tuple[Any, ...]], server: Server) -> None:
    """Raise HookError for a schema that is not a fleet, or that is a fleet of a newer version."""
    tables = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)", [server.schema]
    ).fetchall()
    if not tables:
        return
    from psycopg import sql

    if ("fleet",) not in tables:
        raise HookError(
            f"the schema {server.schema} at {server.where} has tables of another program: "
            "pass schema= with another name"
        )
    statement = sql.SQL("SELECT version FROM {}.fleet").format(sql.Identifier(server.schema))
    for (version,) in connection.execute(statement):
        check_version(version, server)


def _check_numbers(connection: Connection[tuple[Any, ...]], server: Server) -> None:
    """Raise HookError for events from another database cluster. Their order depends on its
    transaction numbers, so readers would miss new events until this server reaches these numbers.
    """
    from psycopg import sql

    statement = sql.SQL(
        "SELECT 1 FROM {}.events WHERE tx > pg_current_xact_id() LIMIT 1"
    ).format(sql.Identifier(server.schema))
    if connection.execute(statement).fetchone():
        raise HookError(
            f"the fleet {server.schema} at {server.where} was restored from a dump of another "
            "server, whose transaction numbers order its events: restore a physical backup, or "
            "make a new fleet with another schema="
        )


def check_version(version: int, server: Server) -> None:
    """Raise HookError if this version of hookbus does not support the version of the fleet."""
    if version > VERSION:
        raise HookError(
            f"the fleet {server.schema} at {server.where} has version {version}, but this hookbus "
            f"knows version {VERSION}: install a newer hookbus"
        )


def _insert_version(connection: Connection[tuple[Any, ...]], schema: str) -> None:
    from psycopg import sql

    statement = sql.SQL(
        "INSERT INTO {}.fleet (version, key) VALUES (%s, %s) "
        "ON CONFLICT (is_only) DO UPDATE SET version = excluded.version"
    ).format(sql.Identifier(schema))
    connection.execute(statement, [VERSION, secrets.token_bytes(32)])


def _grant(
    connection: Connection[tuple[Any, ...]], schema: str, role: str,
    functions: Iterable[str] | None, *, is_portal: bool = False,
) -> None:  # fmt: skip
    """Grant a role the right to execute only these functions. None means all functions except
    `FOR_PORTALS`.
    """
    from psycopg import sql

    place, name = sql.Identifier(schema), sql.Identifier(role)
    every = sql.SQL("ALL FUNCTIONS IN SCHEMA {}").format(place)
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, name))
    connection.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(every, name))
    granted = [every] if functions is None else [
        sql.SQL("FUNCTION {}").format(sql.Identifier(schema, each)) for each in functions
    ]  # fmt: skip
    for each in granted:
        connection.execute(sql.SQL("GRANT EXECUTE ON {} TO {}").format(each, name))
    if functions is None and not is_portal:
        kept = sql.Identifier(schema, FOR_PORTALS)
        connection.execute(sql.SQL("REVOKE ALL ON FUNCTION {} FROM {}").format(kept, name))


def _write_people(
    connection: Connection[tuple[Any, ...]], schema: str, people: Iterable[Person]
) -> None:
    """Replace the people and their roles. The server does not get their tokens and secrets."""
    from psycopg import sql

    place = sql.Identifier(schema)
    found = connection.execute(sql.SQL("SELECT key FROM {}.fleet").format(place)).fetchone()
    key = bytes(found[0]) if found else b""
    connection.execute(sql.SQL("DELETE FROM {}.people").format(place))
    insert = sql.SQL("INSERT INTO {}.people (name, mark, roles) VALUES (%s, %s, %s::text[])")
    for each in people:
        row = each.name, name_mark(key, each.name), sorted(each.roles)
        connection.execute(insert.format(place), row)
