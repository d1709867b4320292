"""The checks of requests and their answers that open a store pass with `fleet.approvals()`."""

from ...approvals import test_store
from .conftest import checks_of

globals().update(checks_of(test_store))
