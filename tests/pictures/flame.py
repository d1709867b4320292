"""The output of `hookbus trace` as a flame chart: calls lie below the calls that made them."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.cli.pictures import shown

from .drawing import CHARACTER, bar, document, mono, text

PROGRAM: Final = """\
from time import sleep

from hookbus import Block, HookBlocked, hookable, signal


class Agent:
    @hookable
    def run(self, task):
        for question in ("plan", "search", "answer"):
            self.ask_model(question)
            self.use_tool(question)
        return "done"

    @hookable
    def ask_model(self, question):
        sleep(0.08)
        return question

    @hookable
    def use_tool(self, question):
        if question == "search":
            self.fetch("https://example.org")
        if question == "answer":
            try:
                self.fetch("http://169.254.169.254")
            except HookBlocked:
                sleep(0.03)

    @hookable
    def fetch(self, url):
        sleep(0.12)
        return "page"


@signal("pre_fetch").connect_via(Agent, role="guard")
def public_hosts(agent, url):
    sleep(0.06)
    if "169.254" in url:
        return Block("169.254.169.254 is not a public address")


Agent().run("find it")
"""
COMMANDS: Final = (
    "hookbus run --journal day.journal agent.py",
    "hookbus trace --journal day.journal",
)
LEFT, WIDTH, ROW, TOP = 16, 868, 26, 62
KINDS: Final = {"returned": "first", "blocked": "bad", "raised": "bad"}


def events() -> list[dict[str, Any]]:
    """Run the program, and return the calls of its trace in the order of their beginning."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "agent.py").write_text(PROGRAM, encoding="utf-8")
        for command in COMMANDS:
            shown(command, 80, folder)
        found = json.loads((Path(folder) / "trace.json").read_text(encoding="utf-8"))
    calls = [event for event in found if event["ph"] == "X"]
    return sorted(calls, key=lambda call: (call["ts"], -call["dur"]))


def with_depths(calls: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Return each call with the number of calls that it lies in."""
    found, around = [], list[dict[str, Any]]()
    for call in calls:
        around = [outer for outer in around if outer["ts"] + outer["dur"] > call["ts"]]
        found.append((len(around), call))
        around.append(call)
    return found


def picture() -> str:
    """Return the chart."""
    calls = with_depths(events())
    began = calls[0][1]["ts"]
    scale = WIDTH / max(call["ts"] + call["dur"] - began for _, call in calls)
    parts = [
        text(LEFT, 24, "hookbus trace: one run of an agent", "title"),
        text(LEFT, 44, "blue: returned · red: blocked by a guard · width: time", "small"),
    ]
    for depth, call in calls:
        x, width = LEFT + (call["ts"] - began) * scale, call["dur"] * scale
        y = TOP + depth * ROW
        parts.append(bar(x, y, width - 1, ROW - 3, KINDS.get(call["cat"], "other")))
        label = f"{call['name']} {call['dur'] / 1000:.0f} ms"
        fits = [each for each in (label, call["name"]) if len(each) * CHARACTER + 8 <= width]
        if fits:
            parts.append(mono(x + 4, y + 15, fits[0], "on"))
    deepest = max(depth for depth, _ in calls)
    label = ", ".join(f"{call['name']} {call['cat']}" for _, call in calls)
    return document(LEFT * 2 + WIDTH, TOP + (deepest + 1) * ROW + 10, label, parts)


def without_times(svg: str) -> list[str]:
    """Return what a chart shows that is the same in every run."""
    return re.findall(r'aria-label="[^"]*"', svg) + re.findall(r'class="(first|bad|other)"', svg)
