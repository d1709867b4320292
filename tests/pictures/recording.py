"""A terminal recording: a program under `hookbus run`, and `approvals approve` in a second pane."""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests.cli.conftest import environment

from .drawing import CHARACTER, document, mono, text

PROGRAM: Final = """\
from hookbus import Ask, hookable, signal


class Bank:
    @hookable
    def pay(self, to, amount):
        return f"paid {amount} to {to}"


@signal("pre_pay").connect_via(Bank, role="guard")
def large_sums(bank, to, amount):
    if amount > 100:
        return Ask(f"pay {amount} to {to}?")


bank = Bank()
print(bank.pay("ann", 20), flush=True)
print(bank.pay("bob", 500))
"""
COLUMNS, LINE, LINES = 62, 18, 8
PANE: Final = COLUMNS * CHARACTER + 24
RUN: Final = "hookbus run --approvals approvals.db --wait 60 shop.py"
SECONDS_A_STEP, SECONDS_AT_END = 1.6, 5.0


class Step(NamedTuple):
    """What appears at once.

    Attributes:
        pane: 0 is on the left, 1 on the right.
        lines: the lines; the first of a command begins with "$ ".
    """

    pane: int
    lines: list[str]


def steps() -> list[Step]:
    """Run both programs, and return what a person sees, step by step."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "shop.py").write_text(PROGRAM, encoding="utf-8")
        outside, terminal = pty.openpty()
        program = _start(RUN, folder, terminal)
        os.close(terminal)
        try:
            before = _read_line(outside)
            [case] = _until_pending(folder)
            name = case["request"]["id"]
            listed = _output("hookbus approvals --approvals approvals.db", folder)
            approve = f"hookbus approvals approve {name[:6]} --approvals approvals.db"
            approved = _output(approve, folder)
            after = _read_line(outside)
            assert program.wait(30) == 0
        finally:
            program.kill()
            program.wait()
            os.close(outside)
    return [
        Step(0, [f"$ {RUN}"]), Step(0, before),
        Step(1, ["$ hookbus approvals --approvals approvals.db"]), Step(1, listed),
        Step(1, [f"$ {approve}"]), Step(1, approved),
        Step(0, after),
    ]  # fmt: skip


def _environment() -> dict[str, str]:
    own = environment(COLUMNS=str(COLUMNS), NO_COLOR="1")
    return {name: value for name, value in own.items() if name != "HOOKBUS_JOURNAL"}


def _start(command: str, folder: str, output: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", *command.split()]
    return subprocess.Popen(words, stdout=output, stderr=output, cwd=folder, env=_environment())


def _output(command: str, folder: str) -> list[str]:
    words = [sys.executable, "-m", *command.split()]
    ran = subprocess.run(
        words, cwd=folder, env=_environment(), capture_output=True, text=True, check=True
    )
    return [line.rstrip() for line in ran.stdout.splitlines() if line.strip()]


def _until_pending(folder: str) -> list[dict[str, dict[str, str]]]:
    for _ in range(60):
        found = _output("hookbus approvals --approvals approvals.db --json", folder)
        pending: list[dict[str, dict[str, str]]] = json.loads("\n".join(found))
        if pending:
            return pending
        time.sleep(0.5)
    raise AssertionError("the program did not ask for an approval")


def _read_line(outside: int) -> list[str]:
    output = b""
    while not output.endswith(b"\n"):
        output += os.read(outside, 1024)
    return output.decode().splitlines()


def picture() -> str:
    """Return the recording as an animated SVG; without animation it shows the last moment."""
    made = steps()
    total = len(made) * SECONDS_A_STEP + SECONDS_AT_END
    parts, used, style = [], [0, 0], ["@media (prefers-reduced-motion: no-preference) {"]
    for pane, title in enumerate(("the agent", "you")):
        x = 12 + pane * (PANE + 12)
        height = LINES * LINE + 44
        parts.append(f'<rect class="pane" x="{x:g}" y="12" width="{PANE:g}" height="{height}"/>')
        parts.append(text(x + PANE / 2, 32, title, "dim", "middle"))
    for number, step in enumerate(made):
        begins = 100 * number * SECONDS_A_STEP / total
        style.append(
            f"@keyframes s{number} {{ 0%, {begins:.1f}% {{ opacity: {int(number == 0)} }} "
            f"{begins + 0.1:.1f}%, 100% {{ opacity: 1 }} }}\n"
            f".s{number} {{ animation: s{number} {total:g}s infinite }}"
        )
        drawn = []
        for line in step.lines:
            x = 24 + step.pane * (PANE + 12)
            kind = "typed" if line.startswith("$ ") else "printed"
            drawn.append(mono(x, 56 + used[step.pane] * LINE, line, kind))
            used[step.pane] += 1
        parts.append(f'<g class="s{number}">{"".join(drawn)}</g>')
    style.append("}\n.pane { fill: #161b22; stroke: #3d444d; rx: 8px } .dim { fill: #9198a1 }")
    style.append("text.typed { fill: #7ee787; font-weight: 600 } text.printed { fill: #e6edf3 }")
    label = "Two terminals: the payment of an agent waits, a person approves it, it is made"
    height = 24 + LINES * LINE + 44
    return document(2 * PANE + 36, height, label, parts, "\n".join(style))


def without_times(svg: str) -> list[str]:
    """Return the lines of a recording, with moments and ids masked."""
    lines = re.findall(r'<text [^>]*class="mono[^>]*>([^<]*)</text>', svg)
    masked = [re.sub(r"\b[0-9a-f]{16}\b|(?<=approve )[0-9a-f]{6}\b", "ID", line) for line in lines]
    return [re.sub(r"\d\d:\d\d:\d\d\.\d+|\d{4}-\d\d-\d\d", "TIME", line) for line in masked]
