"""The page on fleets does what it says, on a Postgres."""

import os
import subprocess
import sys

from ..test_docs import DOCS, program_of, promised, untimed


def test_the_page_runs_and_prints_what_it_says(postgres, tmp_path):
    text = (DOCS / "how-to" / "operate-a-fleet.md").read_text()
    path = tmp_path / "fleet.py"
    path.write_text(program_of(text))
    postgres.run_sql("DROP SCHEMA IF EXISTS hookbus CASCADE")  # other tests use it, too
    roles = ("owner", "agent", "operator", "ada", "bob")
    urls = {f"FLEET_{role.upper()}": postgres.url(role) for role in roles}
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, timeout=120,
        cwd=tmp_path, env={**os.environ, **urls}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    printed = iter(untimed(line) for line in ran.stdout.splitlines())
    missing = [line for line in promised(text) if untimed(line) not in printed]
    assert not missing, f"these were not printed, or not in this order: {missing}\n{ran.stdout}"
