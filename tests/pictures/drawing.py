"""What the pictures share: an SVG document that is readable on light and on dark pages."""

from html import escape
from typing import Final

CHARACTER: Final = 7.2
"""The width of a character of the monospaced font, at 12 pixels."""

STYLE: Final = """
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .mono { font: 12px ui-monospace, Menlo, Consolas, monospace; white-space: pre }
  .title { font-size: 15px; font-weight: 600 } .small { fill: #59636e } .on { fill: #ffffff }
  .paper { fill: #ffffff } .rule { stroke: #d1d9e0 }
  .good { fill: #1a7f37 } .bad { fill: #cf222e } .other { fill: #57606a } .first { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .on { fill: #ffffff }
    .paper { fill: #0d1117 } .rule { stroke: #3d444d }
    .good { fill: #238636 } .bad { fill: #da3633 } .other { fill: #6e7681 } .first { fill: #1f6feb }
  }
"""


def document(width: float, height: float, label: str, parts: list[str], style: str = "") -> str:
    """Return an SVG document.

    Args:
        width: its width.
        height: its height.
        label: what it shows, for people who cannot see it.
        parts: the elements in it.
        style: rules besides the common ones.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(label)}">\n<style>{STYLE}{style}</style>\n'
        '<rect class="paper" width="100%" height="100%"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    """Return a line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(content)}</text>'
    )


def mono(x: float, y: float, line: str, kind: str = "") -> str:
    """Return a line of a terminal, whose characters have one width in every font."""
    width = len(line) * CHARACTER
    return (
        f'<text x="{x:g}" y="{y:g}" class="mono {kind}" xml:space="preserve" '
        f'textLength="{width:g}" lengthAdjust="spacingAndGlyphs">{escape(line)}</text>'
    )


def bar(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a bar."""
    width = max(width, 1)
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" '
        'rx="2"/>'
    )
