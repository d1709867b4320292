"""The page about the OWASP Top 10 names a test for each risk, or says that it is not covered."""

import re
from pathlib import Path

from hookbus import guards

ROOT = Path(__file__).parent.parent
RISKS = [
    "Agent Goal Hijack", "Tool Misuse and Exploitation", "Identity and Privilege Abuse",
    "Agentic Supply Chain Vulnerabilities", "Unexpected Code Execution (RCE)",
    "Memory & Context Poisoning", "Insecure Inter-Agent Communication", "Cascading Failures",
    "Human-Agent Trust Exploitation", "Rogue Agents",
]  # fmt: skip


def rows():
    page = (ROOT / "docs/explanation/owasp.md").read_text()
    return [line.strip("|").split(" | ") for line in page.splitlines() if line.startswith("| ASI")]


def test_each_risk_has_its_row_in_order():
    names = [row[0].strip() for row in rows()]
    assert names == [f"ASI{number:02} {name}" for number, name in enumerate(RISKS, 1)]


def test_each_row_names_tests_that_are_there_or_says_that_nothing_covers_it():
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    there = set(re.findall(r"def (test_\w+)\(", sources))
    for risk, _, tests, missing in rows():
        named = re.findall(r"`(test_\w+)`", tests)
        assert set(named) <= there, risk
        assert named or "not covered" in missing, risk
        assert missing.strip(), risk


def test_each_guard_that_a_row_names_is_there():
    named = {name for row in rows() for name in re.findall(r"`([a-z_]+)`", row[1])}
    assert len(named) > 8
    assert [name for name in named if not hasattr(guards, name)] == []
