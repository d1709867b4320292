"""The way into a parent's hookable, which `super()` may come by from inside the call that runs the hooks already."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

from .._hooks.hook import Hook, Site
from .._hooks.shell import declared, free_name, maker, passed
from .context import CURRENT


def make_passage(hook: Hook, site: Site, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a parent's hookable runs: the body for `super()` from inside the call that runs the hooks."""
    signature = hook.function_signature
    taken = {*signature.names}
    current, frame, mark, body, other = (free_name(name, taken) for name in ("CURRENT", "frame", "family", "body", "run"))
    sender = signature.positional[0] if signature.positional else f"{signature.star}[0]"
    source = dedent(f"""
        def make({current}, {mark}, {body}, {other}):
            def passage({declared(hook.parameters)}):
                {frame} = {current}.get()
                while {frame} is not None:
                    if {frame}[0] is {sender} and {frame}[1] is {mark}:
                        return {body}({passed(hook.parameters)})
                    {frame} = {frame}[2]
                return {other}({passed(hook.parameters)})
            return passage
    """)
    passage: Callable[..., Any] = maker(source)(CURRENT, hook.family(site), hook.body, run)
    return passage
