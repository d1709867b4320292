"""Random programs by their numbers: the same ones in every run, and many more than can be drawn so
that they shrink.
"""

import pytest

from .examples import EXAMPLES
from .many import AT_A_TIME, failures


@pytest.mark.parametrize("first", range(0, 2 * EXAMPLES, AT_A_TIME))
def test_programs_go_as_the_design_says(first):
    assert failures(range(first, first + AT_A_TIME)) == []
