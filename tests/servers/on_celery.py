"""The tool as a task of Celery, with a folder as broker: `celery --app tests.servers.on_celery`.

As a program, it sends a task for each guard in its arguments, and prints `GUARD: ANSWER`.
"""

import os
import sys
from pathlib import Path

from celery import Celery

from hookbus import HookBlocked
from tests.servers.guarded import run_tool

folder = Path(os.environ["BROKER"])
for name in ("queue", "results"):
    (folder / name).mkdir(exist_ok=True)
app = Celery("tools", broker="filesystem://", backend=f"file://{folder / 'results'}")
app.conf.broker_transport_options = {
    "data_folder_in": f"{folder / 'queue'}", "data_folder_out": f"{folder / 'queue'}",
}  # fmt: skip


@app.task
def use(guard):
    try:
        return run_tool(guard)
    except HookBlocked as blocked:
        return str(blocked)


if __name__ == "__main__":
    sent = {guard: app.send_task("tests.servers.on_celery.use", (guard,)) for guard in sys.argv[1:]}
    for guard, result in sent.items():
        print(f"{guard}: {result.get(timeout=30)}", flush=True)
