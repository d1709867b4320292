"""The pytest plugin: the fixture `hook_recorder`, and tests from tables of policies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .testing import Recording, record


@pytest.fixture
def hook_recorder() -> Iterator[Recording]:
    """Record the calls on `default_bus` during the test, for checks such as
    `hook_recorder.exactly(reply=2)` and `hook_recorder.in_order("reply", "act")`.
    """
    with record() as recording:
        yield recording


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """Collect a `*.policy.toml` file. Each case in its table is a test."""
    if file_path.name.endswith(".policy.toml"):
        return PolicyTable.from_parent(parent, path=file_path)
    return None


class PolicyTable(pytest.File):
    """A table of calls, and the verdicts that policies must return for them."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each case."""
        from .guards._cedar.trial import read_table

        table = read_table(self.path)
        trial = table.trial()
        for case in table.cases:
            item: PolicyCase = PolicyCase.from_parent(self, name=f"{case.number}: {case.title}")
            item.case, item.trial = case, trial
            yield item


class PolicyCase(pytest.Item):
    """One case of a table."""

    case: Any
    trial: Any

    def runtest(self) -> None:
        """Fail if the verdict differs from the expected verdict."""
        case = self.case
        problem = case.problem(self.trial.decide(case.tool, case.arguments, case.baggage))
        if problem is not None:
            pytest.fail(f"{case.title}: {problem}", pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the location of the case for reports."""
        return self.path, None, self.name
