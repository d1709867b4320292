"""The checks of principals that open a store pass with `fleet.approvals()`."""

from ...approvals import test_principals
from .conftest import checks_of

globals().update(checks_of(test_principals))
