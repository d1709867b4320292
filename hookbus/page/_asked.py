"""The approvals that wait: what a person is shown of them, and what they answer."""

from __future__ import annotations

import getpass
import json
from collections.abc import Mapping
from typing import Any

import attrs

from .. import HookError
from ..approvals import Approved, Denied, Request


def shown(request: Request) -> dict[str, Any]:
    """Return a request for the page: all of it; what is no text or number, as JSON."""
    told = attrs.asdict(request)
    for name in ("arguments", "details", "surrounding"):
        told[name] = json.dumps(told[name], indent=2, ensure_ascii=False, default=repr)
    return told


def answer_of(said: Any) -> Approved | Denied:
    """Return the answer of a person, as the page sends it.

    Args:
        said: `answer` ("approve" or "deny"), and then `arguments`, as edited, in JSON,
            `remember`, in seconds, and `reason`, where there are any.

    Raises:
        HookError: saying what is wrong with it.
    """
    if not isinstance(said, Mapping) or said.get("answer") not in ("approve", "deny"):
        raise HookError("an answer says approve or deny")
    if said["answer"] == "deny":
        return Denied(said.get("reason") or "said on the page", by=_who())
    edited = said.get("arguments")
    arguments = None if edited is None else strict_json(edited)
    return Approved(_who(), arguments=arguments, remember=said.get("remember"))


def strict_json(text: Any) -> Any:
    """Return what a JSON text says, if it can be read in one way only.

    Raises:
        HookError: for what is no JSON, names a key twice, or is no number.
    """
    try:
        return json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except RecursionError:
        raise HookError("this is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise HookError(f"this is no JSON: {error}") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise HookError(f"the key {min(twice)!r} stands here twice: keep one")
    return dict(pairs)


def _no_number(word: str) -> Any:
    raise HookError(f"{word} is no JSON: write a number")


def _who() -> str:
    """Return whose page this is: whoever started it gave its address away."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "somebody at the page"
