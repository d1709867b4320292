"""The self-tests that an adapter must pass before it installs on a release newer than the tested
releases.

Each adapter has a module with `SEAMS` and `sample`. `SEAMS` lists the functions that the adapter
replaces, with their parameters at the time of testing. `sample` creates a tool of the framework,
which the self-test calls. `python -m tests.systems.seams NAME` prints the list of functions that an
adapter replaces.
"""

from ._frame import Sample as Sample
from ._frame import SeamProblem as SeamProblem
from ._frame import run_self_test as run_self_test
from ._signatures import check_seams as check_seams
