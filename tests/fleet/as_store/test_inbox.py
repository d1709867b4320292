"""The checks of answering in a terminal that open a store pass with `fleet.approvals()`."""

from ...approvals import test_inbox
from .conftest import checks_of

globals().update(checks_of(test_inbox))
