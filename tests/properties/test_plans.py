"""The functions that hookbus generates are the ones that `plans` keeps. If a change of them is
intended, `python -m tests.properties.plans --write` keeps the new ones.
"""

import os

import pytest

from .plans import COUNT, TEXTS, differing, in_full

AT_A_TIME = 250
CHECKED = COUNT if os.environ.get("HOOKBUS_LONG") else AT_A_TIME


@pytest.mark.parametrize("first", range(0, CHECKED, AT_A_TIME))
def test_the_generated_functions_of_random_programs_are_the_kept_ones(first):
    assert differing(range(first, first + AT_A_TIME)) == []


def test_the_functions_that_are_kept_in_full_show_what_a_change_does_to_them():
    assert in_full() == TEXTS.read_text()
