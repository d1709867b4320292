"""The pictures of the command line in the docs."""

import os
import re

import pytest

from tests.cli.pictures import COMMANDS, DOCS, SIZES, picture


@pytest.mark.parametrize("name", SIZES)
def test_a_picture_shows_each_command_and_asks_nobody_for_anything(name):
    held = (DOCS / name).read_text()
    for command in COMMANDS:
        assert command.replace(" ", "&#160;") in held
    assert not re.search(r"url\(['\"]?http|@import|@font-face|<script", held)


@pytest.mark.skipif(not os.environ.get("HOOKBUS_LONG"), reason="the long form")
def test_a_picture_is_of_a_real_terminal():
    made = picture(80)
    for said in ("no_keys&#160;blocked&#160;in", "archive&#160;failed&#160;in&#160;post"):
        assert said in made
