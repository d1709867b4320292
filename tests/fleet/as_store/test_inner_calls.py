"""The checks of inner calls that open a store pass with `fleet.approvals()`."""

from ...approvals import test_inner_calls
from .conftest import checks_of

globals().update(checks_of(test_inner_calls))
