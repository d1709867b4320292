"""Write the sample files of this version: `python -m tests.formats --write`.

A file of an older format stays as it is for ever. A new format gets a new file, as the number of
the format is in its name. Before the first release a format may change under the same number.
"""

import gzip
import json
import sqlite3
import sys
from contextlib import closing
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from unittest.mock import patch

from hookbus.approvals import Approved, Denied, Proof
from hookbus.journal import Journal


def program() -> ModuleType:
    """Load the program as a file of a neutral name, as the names of files get into journals."""
    name = f"{__package__}.program"
    spec = find_spec(name)
    assert spec and spec.origin
    sys.modules[name] = module = module_from_spec(spec)
    source = Path(spec.origin).read_text(encoding="utf-8")
    exec(compile(source, "/app/agent.py", "exec"), vars(module))
    return module


agent = program()


def journal(path: Path) -> dict[str, object]:
    """Make a journal, and return what is known about it."""
    with Journal(path) as made:
        agent.work(made)
        cursor = made.cursor(agent.READER)
        for committed in cursor:
            cursor.commit()
        made.retain(days=0)
        agent.work(made)
        records = list(made.records())
        return {
            "checkpoint": str(made.checkpoint()),
            "committed": committed.seq,
            "first": records[0].seq,
            "last": records[-1].seq,
            "types": sorted({record.type for record in records}),
        }


def approvals(path: Path) -> dict[str, object]:
    """Make a store of approvals, and return the requests in it."""
    store = agent.store_at(path)
    answers = {
        "approved": Approved("ada"),
        "denied": Denied("ada", "too much"),
        "used": Approved("ada"),
        "remembered": Approved("ada", remember=agent.A_CENTURY),
        "edited": Approved("ada", arguments={"to": "bob", "amount": 70}),
    }
    with agent.approved_by(store):
        for state, call in agent.CALLS.items():
            agent.pay(*call)
            if state in answers:
                store.answer(store.pending()[-1].id, answers[state])
        agent.pay(*agent.CALLS["used"])
        states = [case.state for case in store.history()]
        agent.pay(*agent.SHARED)
        shared = store.pending()[-1].id
        store.answer(shared, Approved("grace"), proof=Proof("grace", "sample"))
        return {"states": states, "shared": shared}


def write(name: str, path: Path, facts: dict[str, object]) -> None:
    """Put a file, and what is known about it, among the samples."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        number = db.execute("PRAGMA user_version").fetchone()[0]
    agent.SAMPLES.mkdir(exist_ok=True)
    target = agent.SAMPLES / f"{name}-{number}.db.gz"
    target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    text = json.dumps(facts, indent=2)
    (agent.SAMPLES / f"{name}-{number}.json").write_text(f"{text}\n", encoding="utf-8")
    print(target.relative_to(agent.SAMPLES.parent), target.stat().st_size, "bytes")


def main() -> None:
    with (
        TemporaryDirectory() as folder,
        patch("socket.gethostname", return_value="sample.example"),
        patch.object(sys, "argv", ["agent.py"]),
    ):
        for make in (journal, approvals):
            path = Path(folder) / make.__name__
            write(make.__name__, path, make(path))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.formats --write")
    main()
