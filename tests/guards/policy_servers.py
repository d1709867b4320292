"""Policy servers on loopback: one that writes raw bytes, and one that serves an ASGI app."""

import json
import socket
import ssl
import threading
from contextlib import closing, contextmanager, suppress

import uvicorn

PERMIT = b'{"decision": true}'


def http(body, status="200 OK", headers=()):
    """Return the bytes of an answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def read_question(file):
    """Return the headers and the body of a request, or None at the end of the connection."""
    line = file.readline()
    if not line:
        return None
    headers = {"": line.decode().strip()}
    while line := file.readline().strip():
        name, _, value = line.decode().partition(": ")
        headers[name.lower()] = value
    body = file.read(length := int(headers["content-length"]))
    return (headers, body) if len(body) == length else None


class Raw:
    """Answers each question with what `reply(peer, question)` writes to the socket.

    Attributes:
        url: the address.
        questions: the questions so far, from JSON.
        headers: their headers.
        connections: how many connections were accepted.
    """

    def __init__(self, reply, tls=None):
        self._tls, self._reply = tls, reply
        self.questions, self.headers, self.connections = [], [], 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._listening.getsockname()[1]}"
        self._peers, self._threads = [], []
        self._start(self._accept)

    def _start(self, target, *args):
        thread = threading.Thread(target=target, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with suppress(OSError):
            while True:
                peer, _ = self._listening.accept()
                self.connections += 1
                if self._tls is not None:
                    try:
                        peer = self._tls.wrap_socket(peer, server_side=True)
                    except ssl.SSLError:  # the client refused the certificate
                        continue
                self._peers.append(peer)
                self._start(self._serve, peer)

    def _serve(self, peer):
        with suppress(OSError), peer, peer.makefile("rb") as file:
            while (read := read_question(file)) is not None:
                self.headers.append(read[0])
                self.questions.append(json.loads(read[1]))
                if not self._reply(peer, self.questions[-1]):
                    return

    def close(self):
        """End all connections, and wait for the threads."""
        for each in (self._listening, *self._peers):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(20)
            assert not thread.is_alive()


def raw(reply, tls=None):
    return closing(Raw(reply, tls))


def answering(answer, tls=None):
    """Serve a policy: a function from the question to the body of the answer, or its bytes."""

    def reply(peer, question):
        found = answer(question) if callable(answer) else answer
        peer.sendall(http(found if isinstance(found, bytes) else json.dumps(found).encode()))
        return True

    return raw(reply, tls)


@contextmanager
def serving(app):
    """Serve an ASGI app with Uvicorn, and give its address."""
    server = uvicorn.Server(
        uvicorn.Config(
            app, lifespan="off", ws="none", log_level="critical", access_log=False,
            timeout_graceful_shutdown=1,
        )
    )  # fmt: skip
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()
