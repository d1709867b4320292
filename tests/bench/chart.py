"""A bar chart of the goals as a static SVG, readable on light and on dark paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from .harness import Measured
from .limits import judge
from .table import number

KEYS = (
    "P1 sync", "P1 async", "P2 sync", "P2 async", "P3 sync", "P3 async", "P4 sync", "P4 async",
    "P5 sync", "P6", "P7 async", "P8", "P10 sync, 10,000", "P12 sync", "P13 sync",
)  # fmt: skip
WIDTH, LEFT, RIGHT, BAR, GAP, HEAD = 860, 110, 70, 13, 12, 62

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 } .small { fill: #59636e }
  .rule { stroke: #d1d9e0 } .limit { stroke: #1f2328; stroke-width: 2 }
  .hookbus { fill: #0969da } .other { fill: #afb8c1 }
  .miss { fill: #cf222e } .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 }
    .rule { stroke: #3d444d } .limit { stroke: #e6edf3 } .hookbus { fill: #4493f8 }
    .other { fill: #656c76 } .miss { fill: #f85149 } .paper { fill: #0d1117 }
  }
"""


def svg(rows: Sequence[Measured], keys: Sequence[str] = KEYS) -> str:
    """Return the chart: per goal a bar for hookbus, its limit, and a bar for everybody else who was
    measured.
    """
    drawn = [row for row in rows if row.key in keys and "hookbus" in row.ratios and row.unit == "x"]
    widest = max((max(_bars(row).values()) for row in drawn), default=10.0)
    top, parts = HEAD, []
    for row in drawn:
        part, top = _group(row, top, widest)
        parts.append(part)
    rules = "".join(_rule(value, top, widest) for value in _ticks(widest))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 10}" role="img" '
        'aria-label="How many times the hand-written code each system '
        f'takes">\n<style>{STYLE}</style>\n'
        f'<rect class="paper" width="100%" height="100%"/>\n'
        '<text class="title" x="16" y="24">Time of a call, as a multiple of the same written by '
        'hand</text>\n'
        '<text class="small" x="16" y="42">shorter is better; logarithmic; the upright line is '
        'the limit for hookbus</text>\n'
        f"{rules}{''.join(parts)}</svg>\n"
    )


def _bars(row: Measured) -> dict[str, float]:
    others = {
        name: ratio
        for name, ratio in row.ratios.items()
        if "small" not in name and name not in ("hookbus", "by hand")
    }
    return {
        "hookbus": row.ratios["hookbus"],
        **dict(sorted(others.items(), key=lambda item: item[1])),
    }


def _x(ratio: float, widest: float) -> float:
    """Place a ratio on the logarithmic scale, which begins at a half."""
    return LEFT + (WIDTH - LEFT - RIGHT) * max(0.0, math.log(ratio / 0.5)) / math.log(
        max(widest, 2) / 0.5
    )


def _ticks(widest: float) -> list[float]:
    return [1.0, *(10.0**power for power in range(1, 6) if 10.0**power <= widest)]


def _rule(value: float, bottom: int, widest: float) -> str:
    x = _x(value, widest)
    return (
        f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD}" y2="{bottom - 4}"/>'
        f'<text class="small" x="{x:.1f}" y="{HEAD - 3}" text-anchor="middle">{value:,.0f}</text>\n'
    )


def _group(row: Measured, top: int, widest: float) -> tuple[str, int]:
    parts = [f'<text x="16" y="{top + BAR - 1}">{escape(row.key)}: {escape(row.title)}</text>\n']
    top += BAR + 4
    limit = row.limit or 0.0
    if limit:
        x = _x(limit, widest)
        parts.append(
            f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 2}" y2="{top + BAR}"/>\n'
        )
    for name, ratio in _bars(row).items():
        kind = (
            "other"
            if name != "hookbus"
            else "miss"
            if judge(row) in ("miss", "known miss")
            else "hookbus"
        )
        end = _x(ratio, widest)
        # The number must not stand in the line of the limit.
        place = _x(max(ratio, limit), widest) if name == "hookbus" and limit else end
        parts.append(
            f'<text class="small" x="{LEFT - 8}" y="{top + BAR - 3}" '
            f'text-anchor="end">{escape(name)}</text>'
            f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{max(1.0, end - LEFT):.1f}" '
            f'height="{BAR - 2}"/>'
            f'<text x="{place + 5:.1f}" y="{top + BAR - 3}">{number(ratio)}</text>\n'
        )
        top += BAR
    return f"<g>{''.join(parts)}</g>\n", top + GAP
