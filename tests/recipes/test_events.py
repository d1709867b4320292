"""The page on handing events on, with the real FastStream on its test broker, a Postgres, and a
collector that counts the spans it gets.
"""

import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ..fleet.postgres import Postgres
from ..test_docs import DOCS, program_of, promised
from .environment import FOLDER, environment, python

pytestmark = pytest.mark.skipif(FOLDER is None, reason="HOOKBUS_RECIPES names no environment")
PAGE = (DOCS / "how-to" / "hand-on-events.md").read_text()
MAKE = """
import os
from hookbus.fleet import Fleet
Fleet.make(os.environ["FLEET_OWNER"], agents="agent", operators="operator")
"""


@pytest.fixture
def urls():
    server = Postgres()
    yield {f"FLEET_{role.upper()}": server.url(role) for role in ("owner", "agent", "operator")}
    server.remove()


@pytest.fixture
def collector():
    """A collector: its address, and the bodies that it has got."""
    bodies = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies
        server.shutdown()
        thread.join()


def test_events_reach_the_broker_and_spans_the_collector(urls, collector, tmp_path):
    address, bodies = collector
    path = tmp_path / "hand_on.py"
    path.write_text(program_of(PAGE))
    settings = {
        **urls, "COLLECTOR": address, "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
    }  # fmt: skip
    for command in (["-c", MAKE], [str(path)]):
        ran = subprocess.run(
            [python(), *command], cwd=tmp_path, env=environment(**settings), capture_output=True,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines() == promised(PAGE)
    assert b"execute_tool" in b"".join(bodies)
