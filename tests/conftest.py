"""What every test may use."""

import gc

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(scope="module", autouse=True)
def what_is_imported_stays():
    """The many collections that tests ask for pass over what earlier modules have imported."""
    gc.collect()
    gc.freeze()
