"""Implements `hook.py`, which asks the gate's server about each event, and blocks the event if the
server cannot be asked.

Because an agent starts the hook for every call, this module imports nothing from hookbus, and only
modules that are built into Python or load as quickly. The hook exits with 77 for an allowed event
and with 78 for a refused event, because no other program is likely to use these codes. The shell
command in the agent's settings converts the codes to 0 and 2.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import posix
import sys
import time

FILE = f"{__file__[:-8]}hook.py"
"""The file that agents start. Its path is in the settings of agents, so the name must not
change."""

GO, REFUSED = 77, 78
ENDED = 75  # a server that another one replaces
MOST_BYTES = 64 << 20
PAUSE_SECONDS, RESTART_SECONDS = 0.01, 1.0
_SIGNALS = _signal.SIGALRM, _signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP

GUARDED = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "BeforeTool",
    "AfterTool", "BeforeAgent", "preToolUse", "postToolUse", "postToolUseFailure", "chat.message",
    "beforeSubmitPrompt", "userPromptSubmitted", "tool.execute.before", "tool.execute.after",
)  # fmt: skip
"""The events that a failure blocks. Other events continue, so that the gate never prevents a
session from ending."""

_ENDS = b'{"continue": false, "stopReason": "%s"}'
_RESULT = b'{"modifiedResult": {"resultType": "success", "textResultForLlm": "%s"}}'
CLOSES = {
    ("claude", "PostToolUse"): _ENDS, ("claude", "PostToolUseFailure"): _ENDS,
    ("cursor", "preToolUse"): b'{"permission": "deny", "user_message": "%s"}',
    ("cursor", "beforeSubmitPrompt"): b'{"continue": false, "user_message": "%s"}',
    ("copilot", "preToolUse"): b'{"permissionDecision": "deny", "permissionDecisionReason": "%s"}',
    ("copilot", "postToolUse"): _RESULT,
}  # fmt: skip
"""The JSON that blocks an event, with exit code 0. All other events are blocked by a line on stderr
and exit code 2.
"""

PASSED_ON = (
    b"HOME", b"CLAUDE_CONFIG_DIR", b"CODEX_HOME", b"COPILOT_HOME", b"XDG_CONFIG_HOME",
    b"CLAUDE_PROJECT_DIR", b"GEMINI_PROJECT_DIR", b"CURSOR_PROJECT_DIR", b"COPILOT_PROJECT_DIR",
    b"OPENCODE_PROJECT_DIR", b"CLAUDE_CODE_ENTRYPOINT", b"GEMINI_CLI_HOME",
)  # fmt: skip
"""The environment variables of the agent that are passed to the server."""

Answer = tuple[int, bytes, bytes]
"""The exit code, stdout and stderr."""


class Closed(Exception):
    """The event gets no answer. The message states the reason."""


def close_event(agent: str, event: str, why: str) -> Answer:
    """Return the answer that blocks an event."""
    line = "hookbus: " + " ".join(why.split())
    if event and event not in GUARDED:
        return GO, b"", b""
    if (agent, event) in CLOSES:
        plain = [each if " " <= each <= "~" and each not in '"\\' else "?" for each in line]
        return GO, CLOSES[agent, event] % "".join(plain).encode(), b""
    return REFUSED, b"", line.encode("utf-8", "backslashreplace") + b"\n"


def folder() -> str:
    """Return the folder of this user's sockets, after creating the folder if it does not exist.

    Raises:
        Closed: if another user owns it or can access it.
    """
    path = f"/tmp/hookbus-{posix.getuid()}"
    try:
        posix.mkdir(path, 0o700)
        found = posix.lstat(path)
    except FileExistsError:
        found = posix.lstat(path)
    is_folder = found.st_mode & 0o170000 == 0o040000
    if not is_folder or found.st_uid != posix.getuid() or found.st_mode & 0o077:
        raise Closed(
            f"{path} must be a folder that only you can access: remove it, or run chmod 700 on it"
        )
    return path


def place(settings: str) -> str:
    """Return the path of the server's files for these settings, without an extension."""
    number = 0xCBF29CE484222325  # FNV-1a: the modules with better hashes take too long to import
    for byte in encode(sys.executable) + b"\0" + encode(settings):
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{folder()}/gate-{number:016x}"


def encode(text: str) -> bytes:
    """Return the bytes of a path or an argument."""
    return text.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


def connect(path: str) -> _socket.socket | None:
    """Return a connection to the user's server, or None if no server is listening.

    Raises:
        Closed: if the server belongs to another user.
    """
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    if find_peer(connection) != posix.getuid():
        connection.close()
        raise Closed(f"the server at {path} is another user's")
    return connection


def find_peer(connection: _socket.socket) -> int:
    """Return the id of the user whose program has the other end of a connection."""
    if sys.platform == "darwin":
        level, credentials = 0, 1  # SOL_LOCAL, LOCAL_PEERCRED: a version, then the user
        found = connection.getsockopt(level, credentials, 76)
    else:
        found = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(found[4:8], sys.byteorder)


def start(settings: str) -> int:
    """Start the server, detached from the agent, and return its process id."""
    pid = posix.fork()
    if pid:
        return pid
    try:
        posix.setsid()
        nothing, flags = posix.open("/dev/null", posix.O_RDWR), posix.O_CREAT | posix.O_APPEND
        log = posix.open(place(settings) + ".log", posix.O_WRONLY | flags, 0o600)
        for number, target in enumerate((nothing, log, log)):
            posix.dup2(target, number)
        words = [sys.executable, "-I", "-X", "utf8", FILE[:-7] + "_boot.py", settings]
        posix.execve(sys.executable, words, {})  # nothing that a project can set
    finally:
        posix._exit(127)


def ask(agent: str, settings: str, seconds: float, event: str, given: bytes) -> Answer:
    """Return the answer of the server to an event.

    Args:
        agent: the name of the agent.
        settings: the absolute path of the settings.
        seconds: the time limit for the event.
        event: the name of the event.
        given: the bytes of the event.

    Raises:
        Closed: if no complete answer arrives.
    """
    variables = [
        name + b"=" + posix.environ[name] for name in PASSED_ON if name in posix.environ
    ]  # fmt: skip
    words = [sys.executable, settings, agent, event, str(seconds)]
    head = b"\0".join([*map(encode, words), *variables])
    request = b"hookbus gate 1 %d %d\n" % (len(head), len(given)) + head + given
    path, server, restart = place(settings) + ".sock", 0, 0.0
    while True:
        connection = connect(path)
        answer = None if connection is None else _exchange(connection, request)
        if answer is not None:
            return answer
        if connection is None and not server and time.monotonic() >= restart:
            server, restart = start(settings), time.monotonic() + RESTART_SECONDS
        ended, status = posix.waitpid(server, posix.WNOHANG) if server else (0, 0)
        if ended and status != ENDED << 8:
            raise Closed(f"the server did not start; {path[:-5]}.log says why")
        server = 0 if ended else server
        time.sleep(PAUSE_SECONDS)


def _exchange(connection: _socket.socket, request: bytes) -> Answer | None:
    """Send a request and return the answer, or None if the server did not accept the request.

    Raises:
        Closed: if the server accepted the request but did not answer completely.
    """
    is_taken, received = False, b""
    try:
        _send(connection, request)
        while True:
            line, newline, rest = received.partition(b"\n")
            words = line.split()
            if not newline:
                more = _receive(connection)
                if not more and not is_taken:
                    return None
                if not more:
                    raise Closed("the server ended during the call")
                received += more
            elif words[:1] == [b"answer"]:
                return _read_answer(connection, words, rest)
            elif line == b"again":
                return None
            elif line == b"taken":
                is_taken, received = True, rest
            elif words[:1] == [b"wait"]:
                _signal.setitimer(_signal.ITIMER_REAL, float(words[1]))
                received = rest
            else:
                raise Closed("the server answered in the format of another version")
    finally:
        connection.close()


def _send(connection: _socket.socket, request: bytes) -> None:
    try:
        connection.sendall(request)
    except (BrokenPipeError, ConnectionResetError):
        return  # what the server sent before says whether it took the request


def _receive(connection: _socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except ConnectionResetError:
        return b""


def _read_answer(connection: _socket.socket, words: list[bytes], received: bytes) -> Answer:
    code, of_out, of_err = map(int, words[1:])
    parts, missing = [received], of_out + of_err - len(received)
    while missing > 0:
        parts.append(_receive(connection))
        missing -= len(parts[-1])
        if not parts[-1]:
            raise Closed("the answer of the server was cut short")
    found = b"".join(parts)
    if missing or code not in (GO, REFUSED) or (code == REFUSED and not of_err):
        raise Closed("the server answered in the format of another version")
    return code, found[:of_out], found[of_out:]


def read_stdin() -> bytes:
    """Return the data from stdin.

    Raises:
        Closed: if the data is too long or empty.
    """
    found = bytearray()
    while part := posix.read(0, 1 << 20):
        found += part
        if len(found) > MOST_BYTES:
            raise Closed("the event is longer than 64 MiB")
    if not found:
        raise Closed("there is no event on stdin")
    return bytes(found)


def answer(agent: str, settings: str, seconds: str, event: str) -> Answer:
    """Return the answer to the event on stdin. Never raises."""

    def ended(number: int, frame: object) -> None:
        if number == _signal.SIGALRM:
            raise Closed("there was no answer in time")
        raise Closed(f"the hook was ended by signal {number}")

    try:
        for each in _SIGNALS:
            _signal.signal(each, ended)
        if not 0 < float(seconds) <= 86_400:
            raise Closed(f"the deadline {seconds} is not a number of seconds from 0 to 86400")
        _signal.setitimer(_signal.ITIMER_REAL, float(seconds))
        given = read_stdin()
        if not agent and (event or given != b"{}"):  # those are the words of `gate status`
            event = ""
            raise Closed("the hook names no agent: add the name of one")
        found = ask(agent, settings, float(seconds), event, given)
        _ignore_signals()
        return found
    except Closed as error:
        why = str(error)
    except BaseException as error:
        why = f"the hook failed: {type(error).__name__}"
    _ignore_signals()
    return close_event(agent, event, f"{why} (the event is blocked)")


def _ignore_signals() -> None:
    """Ignore signals, so that the answer is written completely."""
    _signal.setitimer(_signal.ITIMER_REAL, 0)
    for number in _SIGNALS:
        _signal.signal(number, _signal.SIG_IGN)


def main() -> None:
    """Answer the event on stdin. The command-line arguments come from the agent's settings file."""
    agent, settings, seconds, event = sys.argv[1:]
    code, out, err = answer(agent, settings, seconds, event)
    for number, found in ((1, out), (2, err)):
        while found:
            found = found[posix.write(number, found) :]
    posix._exit(code)
