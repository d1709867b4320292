"""The self-tests that let an adapter install on a release newer than those it was tested with: a
list of the functions it replaces in its framework, and one tool that is called through it.

Each adapter has a module with `SEAMS`, the functions with the parameters they had when the adapter
was tested, and `sample`, which makes a tool of the framework. `python -m tests.systems.seams NAME`
prints the list of functions that an adapter replaces.
"""

from ._frame import Sample as Sample
from ._frame import SeamProblem as SeamProblem
from ._frame import run_self_test as run_self_test
from ._signatures import check_seams as check_seams
