"""The pictures in the documentation show what the programs print today."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from . import attacks, flame, recording, seam, spans
from .__main__ import FOLDER, PICTURES

REMAKE = "python -m tests.pictures --write"


def committed(name):
    return (FOLDER / f"{name}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_well_formed_has_a_label_and_loads_nothing(name):
    picture = committed(name)
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img" and len(root.get("aria-label")) > 40
    assert not re.search(r"<script|<image|<foreignObject|url\(|@import|@font-face|href=", picture)


@pytest.mark.parametrize("name", PICTURES)
def test_a_page_shows_the_picture_and_says_what_it_shows(name):
    docs = FOLDER.parent
    pages = [page.read_text(encoding="utf-8") for page in docs.rglob("*.md")]
    shown = [re.search(rf"!\[([^\]]+)\]\(\S*_static/{name}\.svg\)", page) for page in pages]
    assert any(found and len(found[1]) > 20 for found in shown)


def test_the_chart_of_attacks_is_that_of_the_table():
    rows = {row.policy: row for row in attacks.rows()}
    assert list(rows) == ["without hooks", "tools", "provenance", "quarantine", "ask", "together"]
    assert rows["together"].succeed < 0.02 < 0.9 < rows["without hooks"].succeed
    assert committed("attacks") == attacks.picture(), REMAKE


def test_the_flame_chart_has_the_calls_of_a_fresh_run():
    fresh = flame.picture()
    assert flame.without_times(committed("trace")) == flame.without_times(fresh), REMAKE
    assert "fetch blocked" in fresh and fresh.count('class="bad"') == 1


def test_the_recording_has_the_lines_of_a_fresh_run():
    fresh = recording.without_times(recording.picture())
    assert recording.without_times(committed("recording")) == fresh, REMAKE
    assert fresh.index("paid 500 to bob") > fresh.index("$ hookbus approvals approve ID "
                                                         "--approvals approvals.db")  # fmt: skip


def test_the_spans_are_those_of_a_fresh_run():
    fresh = spans.picture()
    assert spans.without_times(committed("spans")) == spans.without_times(fresh), REMAKE
    assert "execute_tool fetch error (hookbus.blocked by public_hosts)" in fresh
    assert fresh.count('class="bad"') == 1 and fresh.count('class="first"') == 5


def test_the_guard_is_between_the_function_of_langchain_that_calls_it_and_the_tool():
    pytest.importorskip("langchain.agents", reason="the extra `demo` has no langchain 1 here")
    found = seam.facts()
    assert [name for _, _, name in found.receivers] == ["small_amounts_only", "hide_names", "audit"]
    assert found.runs == [20] and "more than 100 needs a person" in found.refusal
    assert found.inside[0] == "BaseTool.run"  # the method that the adapter replaces
    assert committed("guard-under-langchain") == seam.picture(), REMAKE
