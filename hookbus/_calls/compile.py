"""The fast path: a plan as generated code, which tells the story as long as it goes as usual.

As usual means that receivers answer None, a patch or a new result, and that nobody raises. At anything else the generated
code stops, and the walk takes over at that place (`_resume`): what a failure or a verdict means is said in one room only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from .._hooks.hook import Hook, Site
from .._hooks.shell import maker
from .forms import is_plain, parts_of
from .plan import Phase, Plan
from .resume import Resumption
from .source import Source

MOST_PARTS: Final = 200
"""A plan of more parts than this is walked: to compile it would take too long."""


@attrs.frozen(eq=False)
class Compiled:
    """A plan as a function.

    Attributes:
        run: runs the calls of the plan; it is called as the body is.
        source: its text, in which receivers have short names.
        named: those names, and what they stand for.
    """

    run: Callable[..., Any]
    source: str
    named: dict[str, Any]


def compile_plan(hook: Hook, site: Site, plan: Plan, sender: Any) -> Compiled | None:
    """Return a plan as generated code, or None where it has to be walked."""
    seats = [seat for _, each in plan.phases() for seat in each]
    has_sender = site.attribute is None or hook.function_signature.positional  # else it is the first of `*args`
    if hook.is_stream or plan.unaskable or not has_sender or not all(is_plain(seat, hook) for seat in seats):
        return None
    before = parts_of(hook, site, sender, 0, ("pre", plan.pre))
    body = sum(len(part.seats) for part in before)
    arounds = parts_of(hook, site, sender, body, ("around", Phase(modify=plan.around)))
    after = parts_of(hook, site, sender, body + 1, ("post", plan.post), ("finally", plan.final))
    if any(part.form.held == "weak" and part.form.step in ("around", "beside") for part in (*before, *arounds, *after)):
        return None  # they are called where nobody can look first whether they are still there
    places = {seat: place for part in (*before, *after) for seat, place in part.places()}
    text = Source(hook, site, Resumption(hook, site, plan, places, body), [*before, *arounds, *after])
    if text.is_ambiguous or len(before) + len(plan.around) + len(after) > MOST_PARTS:
        return None
    text.write(before, body, arounds, after, is_simple=not any(plan.error) and not any(plan.final))
    source, given = str(text), text.given
    run = maker(source)(**given)
    run.__qualname__ = hook.body.__qualname__  # a coroutine that nobody awaits is warned of by this name
    return Compiled(run, source, {name: value for name, value in given.items() if name[-1].isdigit()})
