"""Three agents under one gate, seen on the page: a blocked call in each, one approval given in the
browser, and then the environment of Python moved away.

It needs Claude Code, Codex and Gemini CLI in HOOKBUS_AGENTS, and HOOKBUS_BROWSER=required.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from hookbus import cli
from tests.page import chromium

from .real import THERE, Agent

AGENTS = ("claude", "codex", "gemini")
PLUGIN = """\
from hookbus import Ask, Block


def careful(tool, arguments):
    if "rm " in str(arguments):
        return Block("rm is not for agents")
    return Ask("push?") if "push" in str(arguments) else None


def register(api):
    api.connect("pre_tool_call", careful, role="guard", name="careful")
"""

pytestmark = [
    pytest.mark.skipif(not {*AGENTS} <= {*THERE}, reason="HOOKBUS_AGENTS has not all three agents"),
    pytest.mark.skipif(not chromium.ASKED, reason="needs a browser: HOOKBUS_BROWSER=required"),
]


@pytest.fixture
def place(tmp_path):
    """An environment of Python with hookbus, which can be moved away."""
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    found = next(place.glob("lib/python*/site-packages"))
    paths = [str(Path(cli.__file__).parent.parent), sysconfig.get_paths()["purelib"]]
    (found / "tests.pth").write_text("\n".join(paths))
    return place


@pytest.fixture
def agents(tmp_path, place, make_gate):
    gate = make_gate()
    gate.write('journal = "calls.journal"\napprovals = "approvals.db"\n' + gate.plug(PLUGIN))
    made = [Agent(name, tmp_path / name) for name in AGENTS]
    for agent in made:
        words = [place / "bin" / "python", "-m", "hookbus", "gate", "install", agent.name]
        subprocess.run([*words, "--settings", gate.file], env=agent.environment, check=True)
    yield gate, made
    if not place.exists():
        (place.parent / "venv-gone").rename(place)
    words = [place / "bin" / "python", "-m", "hookbus", "gate", "stop", "--settings", gate.file]
    subprocess.run(words, check=True)


def test_three_agents_one_page_one_approval_and_no_python(agents, place):
    gate, (claude, codex, gemini) = agents
    for agent in (claude, codex, gemini):
        has_run, told = agent.has_run("rm -r build")
        assert not has_run and "blocked by careful: rm is not for agents" in told
    has_run, told = codex.has_run("git push")
    assert not has_run and "approval pending" in told
    files = [
        "--journal",
        gate.folder / "calls.journal",
        "--approvals",
        gate.folder / "approvals.db",
    ]
    words = [place / "bin" / "python", "-u", "-m", "hookbus", "serve", *files]
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(words, **out) as serving:
        try:
            address = next(word for line in serving.stdout for word in line.split()
                           if word.startswith("http://"))  # fmt: skip
            approve_on_page(address)
        finally:
            serving.terminate()
    assert codex.has_run("git push")[0]
    assert not codex.has_run("git push")[0]
    place.rename(place.parent / "venv-gone")
    for agent in (claude, codex, gemini):
        has_run, told = agent.has_run("echo hello")
        assert not has_run and "hello" not in told


def approve_on_page(address):
    """Find a blocked call of each agent on the page, and approve the request."""
    with chromium.running() as program:
        page = program.new_page(viewport={"width": 1400, "height": 950})
        page.set_default_timeout(20_000)
        page.goto(address)
        page.get_by_text("live", exact=True).wait_for()
        rows = chromium.until(page, 8)
        text = "\n".join(rows.all_inner_texts())
        for name in ("Bash", "run_shell_command"):
            assert name in text
        folder = os.environ.get("HOOKBUS_PICTURES")
        if folder:
            page.screenshot(path=str(Path(folder) / "gate.png"))
        page.get_by_role("button", name="Approve").click()
        page.get_by_text("Approved").first.wait_for()
