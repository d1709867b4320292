"""What every test may use."""

import gc

pytest_plugins = ["pytester"]


def pytest_collection_finish():
    """What is imported by now stays: the many collections tests ask for may pass it over."""
    gc.collect()
    gc.freeze()
