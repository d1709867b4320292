"""The pictures in the documentation show what the programs print today."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from . import attacks, flame, recording
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
                                                         "--store approvals.db")  # fmt: skip
