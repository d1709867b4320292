"""The checks of people with roles that open a store pass with `fleet.approvals()`."""

from ...approvals import test_people
from .conftest import checks_of

globals().update(checks_of(test_people))
