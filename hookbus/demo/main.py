"""Run `hookbus demo`, from its options to its output."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hookbus.approvals import Store
from hookbus.exceptions import HookError

from .benchmark import AttackedSuite, attack_suites, check_known
from .cost import Cost, added_cost
from .policies import POLICIES, Policy
from .results import Experiment
from .run import play_task
from .show import console, progress, show_experiment, show_timelines
from .timeline import telling_timelines


def main(suite: str, attack: str, policies: Sequence[str], json_file: Path | None) -> None:
    """Run the experiment, print its results, and write every result to the file if a file is given.

    Raises:
        HookError: if a suite, attack or policy is unknown, or the file cannot be written. In that
            case, nothing was run.
    """
    chosen = policies_named(policies)
    suites = attack_suites(suite, attack)
    if json_file is not None:
        _check_writable(json_file)
    screen = console()
    with progress(screen) as bar:
        playing = bar.add_task("running", total=sum(map(len, suites)) * (1 + len(chosen)))
        experiment = conduct(attack, suites, chosen, lambda: bar.advance(playing))
    show_experiment(screen, experiment)
    show_timelines(screen, telling_timelines(suites, chosen, experiment.outcomes))
    if json_file is not None:
        json_file.write_text(json.dumps(experiment.as_json(), indent=1) + "\n", encoding="utf-8")
        screen.print(f"\nall results: {json_file}", markup=False)


def policies_named(names: Sequence[str]) -> list[Policy]:
    """Return the named policies in the order of the table, or all of them if none is named.

    Raises:
        HookError: if one of the names is unknown.
    """
    for name in names:
        check_known("policy", name, [policy.name for policy in POLICIES])
    return [policy for policy in POLICIES if policy.name in names or not names]


def conduct(
    attack: str,
    suites: Sequence[AttackedSuite],
    policies: Sequence[Policy],
    on_played: Callable[[], Any] = lambda: None,
) -> Experiment:
    """Run every pair without hooks and under each policy, measure the time that each policy adds,
    and return all results.
    """
    outcomes, costs = [], dict[tuple[str, str], Cost]()
    with tempfile.TemporaryDirectory() as folder:
        stores = {
            suite: {
                policy.name: Store(Path(folder, f"{suite}-{policy.name}.db"))
                for policy in policies
                if policy.has_rules
            }
            for suite in dict.fromkeys(attacked.suite.name for attacked in suites)
        }
        for attacked, pairs in ((each, pairs) for each in suites for pairs in each.tasks()):
            outcomes += play_task(pairs, policies, on_played, stores[attacked.suite.name])
            for policy in policies if attacked.plays_alone else ():
                key = attacked.suite.name, policy.name
                costs[key] = costs.get(key, Cost()) + added_cost(pairs[0], policy)
    return Experiment(attack, suites, policies, outcomes, costs)


def _check_writable(file: Path) -> None:
    # Check before the experiment, which takes minutes, not afterwards.
    target = file if file.exists() else file.parent
    if file.is_dir() or not target.exists() or not os.access(target, os.W_OK):
        raise HookError(
            f"cannot write to {str(file)!r}; pass --json the path of a file in an existing folder"
        )
