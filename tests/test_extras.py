"""The page on extras names every extra of `setup.cfg`, and is what the command makes."""

import re

from . import extras
from .package_metadata import SETUP
from .package_metadata import extras as declared


def test_every_extra_is_on_the_page_with_its_size_and_reason():
    rows = [row for row in extras.rows() if row.extra != extras.WITHOUT_EXTRAS]
    assert sorted(row.extra for row in rows) == sorted(declared())
    for row in rows:
        assert row.gives and row.why and row.group in extras.ABOUT, row
        assert int(row.packages) > 0 and re.fullmatch(r"\d+(\.\d)?|under 0.1", row.megabytes), row


def test_the_page_is_what_the_command_makes():
    assert extras.PAGE.read_text("utf-8") == extras.page(), "python -m tests.extras --write"


def test_hookbus_alone_is_three_packages():
    assert len(SETUP["options"]["install_requires"].split()) == 2
    assert extras.rows()[0].packages == "3"
