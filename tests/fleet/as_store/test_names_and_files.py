"""The checks of names and placeholders that open a store pass with `fleet.approvals()`."""

from ...approvals import test_names_and_files
from .conftest import checks_of

globals().update(checks_of(test_names_and_files))
