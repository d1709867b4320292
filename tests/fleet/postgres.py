"""A Postgres for tests: a server of its own on a free port of 127.0.0.1, with passwords."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psycopg

ENOUGH = 60.0
PASSWORDS = {
    "postgres": "root-hunter1", "owner": "owner-hunter2", "agent": "agent-hunter3",
    "operator": "operator-hunter4", "stranger": "stranger-hunter5", "portal": "portal-hunter6",
    "ada": "ada-hunter7", "bob": "bob-hunter8", "eve": "eve-hunter9",
}  # fmt: skip


class Postgres:
    """A server with a database `fleet` that belongs to the role `owner`. The options are settings
    of the server that replace those of the tests.
    """

    def __init__(self, **options):
        self._options = options
        self._programs = _programs()
        self._folder = Path(tempfile.mkdtemp(prefix="hookbus-postgres-"))
        self._as_user = {"user": "postgres"} if os.getuid() == 0 else {}
        if self._as_user:
            shutil.chown(self._folder, "postgres")
        word = self._folder / "password"
        word.write_text(PASSWORDS["postgres"])
        if self._as_user:
            shutil.chown(word, "postgres")
        self._run(
            "initdb", "-D", self._folder / "data", "-U", "postgres", "--no-sync",
            "-A", "scram-sha-256", f"--pwfile={word}", "-E", "UTF8", "--locale=C",
        )  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()
        self.run_sql("CREATE DATABASE fleet", database="postgres")
        for role in PASSWORDS.keys() - {"postgres"}:
            self.run_sql(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORDS[role]}'")
        self.run_sql("ALTER DATABASE fleet OWNER TO owner")

    def url(self, role, **changes):
        """Return the URL of the database for a role."""
        word = changes.get("password", PASSWORDS[role])
        port = changes.get("port", self.port)
        return f"postgresql://{role}:{word}@127.0.0.1:{port}/{changes.get('database', 'fleet')}"

    def run_sql(self, text, role="postgres", database="fleet", values=None):
        """Run a statement as a bare client, and return its rows."""
        url = self.url(role, database=database)
        with psycopg.connect(url, autocommit=True) as connection:
            found = connection.execute(text, values)
            return found.fetchall() if found.description else []

    def start(self):
        """Start the server, and wait until it answers."""
        options = {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": "",
            "fsync": "off", "shared_buffers": "16MB", "max_connections": "60",
            **self._options,
        }  # fmt: skip
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", *words],
                stdout=log, stderr=log, cwd="/", **self._as_user,
            )  # fmt: skip
        self._wait()

    def _wait(self):
        """Wait until the server answers."""
        until = time.monotonic() + ENOUGH
        while True:
            try:
                self.run_sql("SELECT 1", database="postgres")
                return
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise AssertionError((self._folder / "log").read_text()) from None
                time.sleep(0.05)

    def stop(self, kind=signal.SIGINT):
        """End the server. SIGINT disconnects all clients; SIGQUIT is a crash."""
        self._process.send_signal(kind)
        self._process.wait(ENOUGH)

    def crash(self):
        """End the server without a checkpoint, and start it again."""
        self.stop(signal.SIGQUIT)
        self.start()

    def kill(self):
        """Kill all processes of the server, and start it again."""
        self._process.send_signal(signal.SIGSTOP)  # it must not start another
        children = self._children()
        self._process.kill()
        self._process.wait(ENOUGH)
        for each in children:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        until = time.monotonic() + ENOUGH
        while any(is_running(each) for each in children):
            assert time.monotonic() < until
            time.sleep(0.01)
        self.start()

    def kill_backend(self):
        """Kill one process of the server that serves a client: it then restarts all by itself."""
        others = (
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND pid <> pg_backend_pid() LIMIT 1"
        )
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            for (pid,) in connection.execute(others).fetchall():
                os.kill(pid, signal.SIGKILL)
                with suppress(psycopg.OperationalError):
                    connection.execute(f"SELECT pg_sleep({ENOUGH})")  # until it restarts
        self._wait()

    def hold(self):
        """Stop all processes of the server, so that it acknowledges packets but answers nothing."""
        self._signal_all(signal.SIGSTOP)

    def release(self):
        """Let the processes of the server continue."""
        self._signal_all(signal.SIGCONT)

    def remove(self):
        """End the server, and remove its files."""
        self.release()
        self.stop()
        shutil.rmtree(self._folder)

    def _signal_all(self, kind):
        for each in (self._process.pid, *self._children()):
            with suppress(ProcessLookupError):  # a worker can end by itself
                os.kill(each, kind)

    def cpu_seconds(self):
        """Return the CPU time that the processes of the server have used."""
        ticks = 0
        for each in (self._process.pid, *self._children()):
            with suppress(OSError):  # one that has ended is counted with the children of the first
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _children(self):
        pid = self._process.pid
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def _run(self, program, *words):
        done = subprocess.run(
            [self._programs / program, *words], capture_output=True, text=True, cwd="/",
            check=False, **self._as_user,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def is_running(pid):
    """Return whether a process has not ended; one that only waits for its parent has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _programs():
    """Return the folder of the programs of Postgres: HOOKBUS_POSTGRES, or the newest installed."""
    if chosen := os.environ.get("HOOKBUS_POSTGRES"):
        return Path(chosen)
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[4])
    )
    if found:
        return found[-1].parent
    program = shutil.which("initdb")
    assert program, "these tests need a Postgres: apt-get install postgresql"
    return Path(program).parent
