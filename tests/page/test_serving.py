"""`page.serve`: the address it prints, Ctrl-C, and what is said where it cannot begin."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from hookbus import HookError
from hookbus import page as pages

SERVE = "from hookbus import page; page.serve({!r}, approvals={!r})"


def test_it_prints_its_address_with_the_token_and_ends_with_ctrl_c(agency, tmp_path):
    approvals = tmp_path / "approvals.db"
    program = SERVE.format(str(agency.journal.path), str(approvals))
    serving = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env={**os.environ, "PYTHONWARNINGS": "error"},
    )  # fmt: skip
    with serving:
        address, how = serving.stdout.readline().strip(), serving.stdout.readline()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address) as page:
            assert b"<title>hookbus" in page.read() and "token" not in page.url
            inside = page.url
        with opener.open(f"{inside}stream", timeout=10) as stream:
            stream.readline()
            serving.send_signal(signal.SIGINT)
            said = serving.communicate(timeout=20)[0]
    assert (serving.returncode, said) == (0, "")
    assert "Press Ctrl-C to stop" in how and approvals.exists()


def test_a_port_that_is_taken_is_said_in_a_sentence(agency):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(HookError, match=f"port {port} is not available .*: choose another one"):
            pages.serve(agency.journal.path, port=port)


@pytest.mark.parametrize("port", [-1, 65536, "80", True, 1.5])
def test_what_is_no_port_is_refused(agency, port):
    with pytest.raises(HookError, match="must be a number from 0"):
        pages.serve(agency.journal.path, port=port)


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_its_packages_it_says_how_to_have_them(agency, missing):
    program = f"import sys; sys.modules[{missing!r}] = None; {SERVE.format('x', 'y')}"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20
    )
    assert f"the page needs the package {missing}; run: pip install 'hookbus[page]'" in ran.stderr
