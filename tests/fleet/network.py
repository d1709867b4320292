"""A network for tests between an agent and the Postgres, which can lose everything that is sent."""

import socket
import threading
from contextlib import suppress

from .postgres import ENOUGH


class Network:
    """A port of 127.0.0.1 that passes everything on to the server, until it is `lost`."""

    def __init__(self, port):
        self._port, self._is_up = port, threading.Event()
        self._is_up.set()
        self._sockets, self._threads = [], []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._begin(self._accept)

    def lose(self):
        """Pass nothing on any more, in either direction. Nobody is told."""
        self._is_up.clear()

    def restore(self):
        """Pass on what was sent, and what follows."""
        self._is_up.set()

    def close(self):
        """End all connections and threads."""
        self.restore()
        for each in (self._listening, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for each in self._threads:
            each.join(ENOUGH)
        for each in (self._listening, *self._sockets):
            each.close()

    def _begin(self, function, *args):
        self._threads.append(threading.Thread(target=function, args=args))
        self._threads[-1].start()

    def _accept(self):
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += near, far
                self._begin(self._pass_on, near, far)
                self._begin(self._pass_on, far, near)

    def _pass_on(self, source, target):
        with suppress(OSError):
            while data := source.recv(65_536):
                self._is_up.wait()
                target.sendall(data)
            self._is_up.wait()
            target.shutdown(socket.SHUT_WR)
