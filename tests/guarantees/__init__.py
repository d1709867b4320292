import pytest

# The checks stand beside the tests that use them; a failure there shall show its values as well.
pytest.register_assert_rewrite(f"{__name__}._checks", f"{__name__}._stage")
