"""The checks of standing approvals that open a store pass with `fleet.approvals()`."""

from ...approvals import test_standing
from .conftest import checks_of

globals().update(checks_of(test_standing))
