"""A server in a separate process, on a free port of this machine, which ends with the test."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from http.client import HTTPConnection

import pytest

from .install import ROOT


def pytest_ignore_collect(collection_path):
    """Leave these tests to `python -m tests.servers`, whose environment has the servers."""
    return None if os.environ.get("HOOKBUS_SERVERS") else True


class Server:
    """A process that prints what it does, and after a while the address that it serves."""

    def __init__(self, command, folder, more):
        self.journal = folder / "night.journal"
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
            "HOME": str(folder), "HOOKBUS_JOURNAL": str(self.journal), **more,
        }  # fmt: skip
        self.lines, self.port = [], None
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", *command], cwd=folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(line)

    def wait_for(self, pattern, seconds=30):
        """Return what a pattern matches in what was printed, as soon as it does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, "".join(self.lines))
            if found is not None:
                return found
            assert self.process.poll() is None, "".join(self.lines)
            time.sleep(0.05)
        raise AssertionError(f"no {pattern!r} in: {''.join(self.lines)}")

    def get(self, guard):
        """Return what the server answers about a call under this guard."""
        if self.port is None:
            self.port = int(self.wait_for(r"http://127\.0\.0\.1:(\d+)")[1])
        with closing(self._connected()) as line:
            line.request("GET", f"/?{guard}")
            return line.getresponse().read().decode().strip()

    def _connected(self):
        end = time.monotonic() + 20
        while True:
            line = HTTPConnection("127.0.0.1", self.port, timeout=10)
            try:
                line.connect()
                return line
            except ConnectionRefusedError:  # the port is taken, and served in a moment
                if time.monotonic() > end:
                    raise
            time.sleep(0.05)

    def end(self):
        """End it as an operator would, and what it has started with it."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end: {''.join(self.lines)}") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.reader.join(10)


@pytest.fixture
def serve(tmp_path):
    """Start `python -m COMMAND` and return the server."""
    begun = []

    def serve(*command, **more):
        begun.append(Server(command, tmp_path, more))
        return begun[-1]

    yield serve
    for each in begun:
        each.end()
