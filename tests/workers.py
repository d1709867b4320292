"""How the tests are divided among the workers of pytest-xdist."""

from typing import Any

from xdist.scheduler import LoadFileScheduling

DEMO = "tests/demo/"


class ByFile(LoadFileScheduling):
    """Gives each worker one file at a time, in the order in which they were collected. One worker
    gets all tests of the demo, because AgentDojo takes seconds to import.
    """

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # otherwise files with many tests are the first

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return DEMO if file.startswith(DEMO) else file
