"""Random programs by their numbers: the same ones in every run, and many more than can be drawn so
that they shrink.
"""

import pytest

from .examples import EXAMPLES
from .many import AT_A_TIME, CHECKS, failures


@pytest.mark.parametrize("first", range(0, 2 * EXAMPLES, AT_A_TIME))
@pytest.mark.parametrize("check", CHECKS)
def test_programs_go_as_the_design_says_and_the_same_way_hot_and_cold(check, first):
    assert failures(check, range(first, first + AT_A_TIME)) == []
