"""How many random examples the property tests run, and how a failing one is shown.

Together a few hundred programs, besides the 500 of `test_by_number`, the same ones in every run, so
that a change is judged by itself; with `HOOKBUS_LONG=1` four times as many (`.ci/run`).
`HOOKBUS_EXAMPLES` sets another number (nightly: 20000) and draws new ones each time;
`tests.properties.many` runs far more, which are not shrunk. Nothing is kept: a failure prints its
example and a `@reproduce_failure` blob, and `pytest --hypothesis-seed=N` repeats a whole run. Where
only whether a test fails is asked (`tests.seeded_bugs`), `HOOKBUS_SHRINK=no` leaves the example as
it was found.
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
