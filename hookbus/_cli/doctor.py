"""`hookbus doctor`: check the installation, the settings, and the files that they name."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Final

from .. import Bus, HookError, __version__
from .._program.settings import Settings, find_settings, find_user_file
from .reading import named_journal
from .screen import TABLES, Shown, print_items, print_json, print_rows, say

_PACKAGES: Final = (
    "blinker", "attrs", "cyclopts", "rich", "starlette", "uvicorn", "opentelemetry-api",
    "cryptography",
)  # fmt: skip


def doctor(*, shown: Shown = TABLES) -> int:
    """Check versions, adapters, plugins, the settings and the files that they name. If there is a
    problem, the exit code is 1.
    """
    wrong: list[str] = []
    settings = _settings(wrong)
    versions = dict(_versions())
    adapters = list(_adapters(settings, wrong))
    plugins = _plugins(settings, wrong)
    files = list(_files(settings, wrong))
    if shown.json:
        print_json({
            "versions": versions, "adapters": adapters, "plugins": plugins, "files": files,
            "settings": settings.file, "findings": wrong,
        })  # fmt: skip
        return int(bool(wrong))
    say(", ".join(f"{name} {version}" for name, version in versions.items()))
    say(f"settings: {settings.file or 'none in this folder or its parents'}")
    with suppress(RuntimeError):  # the home is not known
        if (own := find_user_file()).is_file() and own != settings.file:
            say(f"settings of hookbus gate: {own}; hookbus gate status checks them")
    print_rows(adapters, "no framework with an adapter is installed", "adapters")
    print_rows(plugins, "no plugins", "plugins")
    print_rows(files, "the settings contain no journal and no approvals file", "files")
    if wrong:
        say("problems", "bold red")
        print_items(wrong)
    else:
        say("no problems found", "green")
    return int(bool(wrong))


def _settings(wrong: list[str]) -> Settings:
    try:
        return find_settings()
    except HookError as error:
        wrong.append(str(error))
        return Settings()


def _versions() -> Iterator[tuple[str, str]]:
    yield "hookbus", __version__
    yield "Python", platform.python_version()
    for name in _PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def _adapters(settings: Settings, wrong: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the adapters whose framework is installed, or that are in the settings."""
    table = import_module("hookbus.adapters.__main__")
    for name, package, versions, state, *_ in table.rows():
        is_named = name in settings.adapters
        installed, _, fit = state.partition(": ")
        if is_named and fit not in table.FITTING:
            wrong.append(f"the adapter {name} needs {package} {versions}; installed: {state}")
        if is_named or installed != "-":
            yield {
                "adapter": name, "package": package, "tested": versions, "installed": installed,
                "fits": fit or "-", "in settings": is_named,
            }  # fmt: skip


def _plugins(settings: Settings, wrong: list[str]) -> list[dict[str, Any]]:
    """Return all plugins, loaded on a separate bus."""
    from .. import load_plugins

    try:
        loaded = load_plugins(Bus(), **(settings.plugins or {}))
    except HookError as error:
        wrong.append(f"{settings.file} plugins: {error}")
        return []
    wrong += [str(each) for each in loaded.diagnostics if each.level == "error"]
    rows = [
        {"plugin": row.plugin, "version": row.version, "place": row.place, "status": row.status,
         "why": row.why}
        for row in loaded.rows()
    ]  # fmt: skip
    loaded.close()
    return rows


def _files(settings: Settings, wrong: list[str]) -> Iterator[dict[str, Any]]:
    journal = named_journal(None, settings)
    if journal is not None:
        yield {"what": "journal", "file": journal, **_journal(journal, wrong)}
    if settings.approvals is not None:
        yield {"what": "approvals", "file": settings.approvals, **_store(settings.approvals, wrong)}


def _journal(file: Path, wrong: list[str]) -> dict[str, Any]:
    from ..journal import Journal

    if not file.is_file():
        return {"state": "not created yet"}
    try:
        journal = Journal.reading(file)
        head, unfinished = journal.checkpoint().seq, len(journal.unfinished())
    except HookError as error:
        wrong.append(str(error))
        return {"state": "damaged"}
    if unfinished:
        wrong.append(f"{file} has {unfinished} intents without an outcome: calls of durable hooks "
                     "that are still running, or whose process died")  # fmt: skip
    holds = f"{head} records, {file.stat().st_size / 1e6:.1f} MB"
    return {"state": "unfinished" if unfinished else "fine", "holds": holds}


def _store(file: Path, wrong: list[str]) -> dict[str, Any]:
    from ..approvals import Store

    if not file.is_file():
        return {"state": "not created yet"}
    try:
        waiting = len(Store(file).pending())
    except HookError as error:
        wrong.append(str(error))
        return {"state": "damaged"}
    return {"state": "fine", "holds": f"{waiting} pending requests"}
