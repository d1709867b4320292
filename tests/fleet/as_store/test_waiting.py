"""The checks of calls that wait that open a store pass with `fleet.approvals()`."""

from ...approvals import test_waiting
from .conftest import checks_of

globals().update(checks_of(test_waiting))
