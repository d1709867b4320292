"""The number of random examples of the property tests, and the form of a failing one.

Every run uses the same few hundred programs, besides the 500 of `test_by_number`, so that it judges
only the change. `HOOKBUS_LONG=1` runs four times as many (`.ci/nightly`). `HOOKBUS_EXAMPLES` sets
another number (nightly: 20000), and draws new programs each time. `tests.properties.many` runs far
more, and does not shrink them. Nothing is stored: a failure prints its example and a
`@reproduce_failure` blob, and `pytest --hypothesis-seed=N` repeats a whole run. With
`HOOKBUS_SHRINK=no` the example is not shrunk, for `tests.seeded_bugs`, which needs only a failure.
"""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, Phase, settings

PHASES: Final = [
    each for each in Phase if each is not Phase.shrink or os.environ.get("HOOKBUS_SHRINK") != "no"
]
USUAL: Final = "1000" if "HOOKBUS_LONG" in os.environ else "250"
EXAMPLES: Final = int(os.environ.get("HOOKBUS_EXAMPLES", USUAL))


def examples(share: float) -> settings:
    """Run this share of all examples."""
    return settings(
        max_examples=max(1, round(EXAMPLES * share)),
        deadline=None,
        phases=PHASES,
        database=None,
        derandomize="HOOKBUS_EXAMPLES" not in os.environ,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
