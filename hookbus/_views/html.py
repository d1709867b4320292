"""Styles for all views in notebooks. The styles use few colors, and a word accompanies every color.
"""

from __future__ import annotations

from typing import Any, Final

from .tables import escape

COLOURS: Final = {
    "returned": "#4a7ebb", "changed": "#2f9480", "replaced": "#8b6fc9", "blocked": "#d64545",
    "raised": "#b7791f",
    "failed": "#b7791f", "cancelled": "#888888", "paused": "#888888",
    "running": "#888888", "left": "#888888",
    "dropped": "#2f9480", "shadow": "#d64545",
    "modify": "#2f9480", "guard": "#d64545", "observe": "#4a7ebb", "around": "#8b6fc9",
    "answer": "#b7791f",
}  # fmt: skip
"""The colors of outcomes and roles. Each color is visible on white and on black, so it suits light
and dark themes.
"""

STYLE: Final = """
div.hookbus { font-size: .9em; line-height: 1.5; color: inherit; unicode-bidi: isolate; }
div.hookbus h4 { margin: .8em 0 .3em; font-size: 1em; font-weight: 600; }
div.hookbus div { overflow-x: auto; }
div.hookbus.hookbus.hookbus table { width: auto; margin: 0; border-collapse: collapse;
  table-layout: auto; font-size: inherit; }
div.hookbus.hookbus.hookbus tr { background: none; }
div.hookbus.hookbus.hookbus :is(th, td) { padding: .15em .9em .15em 0; border: 0;
  border-bottom: 1px solid #8885; text-align: left; vertical-align: top; color: inherit;
  background: none; max-width: none; }
div.hookbus.hookbus.hookbus th { font-weight: 600; }
div.hookbus span { display: inline-block; padding: 0 .5em; margin: .1em 0; border: 1px solid;
  border-radius: .8em; line-height: 1.4; }
div.hookbus p { margin: .2em 0 .6em; line-height: 2; }
div.hookbus table:not(.calls) td:last-child { white-space: nowrap; }
div.hookbus.hookbus.hookbus table.calls { width: 100%; }
div.hookbus table.calls td { overflow-wrap: anywhere; }
div.hookbus table.calls :is(td:nth-child(2), td:nth-child(3)) { white-space: nowrap;
  overflow-wrap: normal; }
div.hookbus table.calls th:last-child { width: 40%; min-width: 5em; }
div.hookbus svg { display: block; width: 100%; height: 1.3em; overflow: visible; }
@media (max-width: 560px) {
  div.hookbus.hookbus.hookbus :is(th, td) { padding-right: .5em; }
  div.hookbus.hookbus.hookbus table.calls, div.hookbus table.calls tbody { display: block; }
  div.hookbus.hookbus.hookbus table.calls thead { display: none; }
  div.hookbus.hookbus.hookbus table.calls tr { display: grid;
    grid-template-columns: 5.5em 4.5em 1fr; }
  div.hookbus.hookbus.hookbus table.calls td:first-child { grid-column: 1 / -1; border: 0; }
}
"""
"""The styles of all views. Repeated class names override a notebook's own style for tables."""


class Pictured:
    """An object that a notebook can display as text or as HTML."""

    __slots__ = ()

    def _html_parts(self) -> list[str]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return f'<div class="hookbus"><style>{STYLE}</style>{"".join(self._html_parts())}</div>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def titled(text: str, body: str) -> str:
    """Return HTML with a heading and a body. A body that is too wide scrolls sideways."""
    return f"<h4>{escape(text)}</h4><div>{body}</div>"


def chip(text: str, word: str) -> str:
    """Return framed text in the color of an outcome or a role."""
    color = COLOURS[word]
    return f'<span style="border-color:{color};background:{color}33">{escape(text)}</span>'
