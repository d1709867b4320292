"""A PgBouncer in transaction mode for tests, in front of the Postgres of the tests."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from .postgres import ENOUGH, PASSWORDS

POOL = 2
"""The number of connections to the server for each role."""


class Bouncer:
    """A PgBouncer on a free port of 127.0.0.1."""

    def __init__(self, postgres):
        self._program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        assert self._program, "these tests need PgBouncer: apt-get install pgbouncer"
        self._postgres = postgres
        self._folder = Path(tempfile.mkdtemp(prefix="hookbus-pgbouncer-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        users = "".join(f'"{role}" "{word}"\n' for role, word in PASSWORDS.items())
        (self._folder / "users").write_text(users)
        (self._folder / "settings").write_text(f"""
[databases]
fleet = host=127.0.0.1 port={postgres.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self._port}
unix_socket_dir =
pool_mode = transaction
default_pool_size = {POOL}
auth_type = scram-sha-256
auth_file = {self._folder / "users"}
""")
        self._as_user = {"user": "postgres"} if os.getuid() == 0 else {}  # it refuses to be root
        if self._as_user:
            for path in (self._folder, *self._folder.iterdir()):
                shutil.chown(path, "postgres")
        self.start()

    def url(self, role):
        """Return the URL of the database for a role."""
        return self._postgres.url(role, port=self._port)

    def start(self):
        """Start it, and wait until it answers."""
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._program, self._folder / "settings"], stdout=log, stderr=log, cwd="/",
                **self._as_user,
            )  # fmt: skip
        until = time.monotonic() + ENOUGH
        while True:
            try:
                psycopg.connect(self.url("owner")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise AssertionError((self._folder / "log").read_text()) from None
                time.sleep(0.05)

    def kill(self):
        """Kill it. All its connections end."""
        self._process.kill()
        self._process.wait(ENOUGH)

    def remove(self):
        """End it, and remove its files."""
        self.kill()
        shutil.rmtree(self._folder)
