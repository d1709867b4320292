"""Defines the messages between the hook and the server."""

from __future__ import annotations

import asyncio
import glob
import os
import sys
from typing import Final

import attrs

from . import _hook as hook

ACTS: Final = ("gate", "forward", "stop")


@attrs.frozen
class Request:
    """A request from a hook.

    Attributes:
        act: `"gate"` for an event, `"forward"` for an event that another server passes on, or
            `"stop"`.
        python, settings: the interpreter of the hook, and the path of the settings.
        agent, event, seconds: the arguments of the hook. Without an agent, the request only asks
            whether the server answers.
        variables: environment variables of the agent.
        given: the bytes of the event.
    """

    act: str
    python: str
    settings: str
    agent: str
    event: str
    seconds: float
    variables: dict[str, str]
    given: bytes
    head: bytes

    def forwarded(self) -> bytes:
        """Return the request for another server."""
        start = b"hookbus forward 1 %d %d\n" % (len(self.head), len(self.given))
        return start + self.head + self.given


def find_older(settings: str) -> list[str]:
    """Return the sockets of older servers, which answer only events of calls that began there."""
    return glob.glob(f"{glob.escape(hook.place(settings))}.*.old")


def make_stop_request(settings: str) -> bytes:
    """Return a request that ends the server."""
    head = b"\0".join(map(hook.encode, [sys.executable, settings, "", "", "10"]))
    return b"hookbus stop 1 %d 0\n" % len(head) + head


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read a request.

    Raises:
        ValueError: if the data is not a request.
        EOFError: if the data ends early.
    """
    name, act, version, of_head, of_given = (await reader.readuntil(b"\n")).split()
    if name != b"hookbus" or version != b"1" or act.decode() not in ACTS:
        raise ValueError("this is not a request of this version")
    if int(of_given) > hook.MOST_BYTES:
        raise ValueError("the event is too long")
    head = await reader.readexactly(int(of_head))
    words = [os.fsdecode(each) for each in head.split(b"\0")]
    python, settings, agent, event, seconds, *pairs = words
    variables = dict(pair.split("=", 1) for pair in pairs)
    given = await reader.readexactly(int(of_given))
    return Request(act.decode(), python, settings, agent, event, float(seconds), variables,
                   given, head)  # fmt: skip


def format_answer(code: int, out: bytes, err: bytes) -> bytes:
    """Serialize an answer for the hook."""
    return b"answer %d %d %d\n" % (code, len(out), len(err)) + out + err


def is_own_user(writer: asyncio.StreamWriter) -> bool:
    """Return whether the program at the other end of a connection belongs to this user."""
    return hook.find_peer(writer.get_extra_info("socket")) == os.getuid()
