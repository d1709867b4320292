"""guards.remote keeps its connections, in threads, tasks and forks, and never blocks a loop."""

import asyncio
import gc
import json
import os
import threading
import time

import pytest

from hookbus import Block, Bus, HookBlocked, hookable
from hookbus.guards import remote, together

from .policy_servers import PERMIT, answering, http, raw, serving
from .test_forks import in_a_child

ENOUGH = 30.0


@pytest.fixture
def tool_call(bus):
    """An async hookable that allows every call."""

    @hookable("tool_call", bus=bus)
    async def tool_call(name, arguments):
        return "ran"

    return tool_call


def test_a_connection_is_kept_and_one_that_the_server_ended_is_replaced(call, bus):
    ends = []

    def reply(peer, question):
        peer.sendall(http(PERMIT))
        return len(ends) == 0

    with raw(reply) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        for _ in range(3):
            call("read")
        assert server.connections == 1
        ends.append(True)
        for _ in range(3):
            call("read")
    assert len(call.made) == 6 and server.connections > 1


def test_a_question_on_a_kept_connection_that_ends_at_that_moment_is_asked_once_more(call, bus):
    def reply(peer, question):
        if len(server.questions) == 2:
            return False  # after the question was read
        peer.sendall(http(PERMIT))
        return True

    with raw(reply) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        call("read")
        call("read")
    assert len(call.made) == 2 and len(server.questions) == 3 and server.connections == 2


def test_a_refusal_that_ends_the_connection_leaves_no_socket_open(call, bus):
    body = b"x" * 100_000
    refusal = http(body, "401 Unauthorized", ["Connection: close"])
    with raw(lambda peer, question: peer.sendall(refusal)) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        with pytest.raises(HookBlocked, match="status 401"):
            call("read")
        gc.collect()  # an open socket would be a ResourceWarning


def test_a_surplus_answer_is_not_taken_for_the_next_one(call, bus):
    def reply(peer, question):
        peer.sendall(http(PERMIT) + http(PERMIT) if len(server.questions) == 1 else http(b"no"))
        return True

    with raw(reply) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        call("read")
        with pytest.raises(HookBlocked, match="not valid JSON"):
            call("read")


async def permit(scope, receive, send):
    """An ASGI app that permits what ends in an even digit."""
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message.get("more_body"):
            break
    number = int(json.loads(body)["resource"]["id"])
    answer = json.dumps({"decision": number % 2 == 0}).encode()
    length = str(len(answer)).encode()
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", length)]})  # fmt: skip
    await send({"type": "http.response.body", "body": answer})


def test_many_threads_and_tasks_each_get_their_own_answer():
    bus, made = Bus(), []

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        made.append(int(name))

    @hookable("tool_call", bus=bus)
    async def tool_call_async(name, arguments):
        made.append(int(name))

    def several(first):
        for number in range(first, first + 20):
            try:
                tool_call(str(number), {})
            except HookBlocked as error:
                assert error.reason == "not allowed by the policy"

    async def main():
        calls = (tool_call_async(str(number), {}) for number in range(1_000, 1_200))
        return await asyncio.gather(*calls, return_exceptions=True)

    with serving(permit) as url:
        bus.register(remote(url, deadline=ENOUGH))
        threads = [threading.Thread(target=several, args=(20 * each,)) for each in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        answers = asyncio.run(main())
        bus.signal("pre_tool_call").connections()
    assert sorted(made) == [*range(0, 160, 2), *range(1_000, 1_200, 2)]
    refused = {str(each) for each in answers if each is not None}
    assert refused == {"tool_call was blocked by remote: not allowed by the policy"}


def test_an_async_call_leaves_the_loop_free_and_can_be_cancelled(bus, tool_call):
    release = threading.Event()

    def reply(peer, question):
        release.wait(20)
        peer.sendall(http(PERMIT))
        return True

    async def main():
        first, second = (asyncio.ensure_future(tool_call("read", {})) for _ in range(2))
        while server.connections < 2:  # the loop runs while both wait
            await asyncio.sleep(0.001)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        release.set()
        return await second

    with raw(reply) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        assert asyncio.run(main()) == "ran"


def test_beside_another_guard_it_is_cancelled_by_the_first_block(bus, tool_call):
    release = threading.Event()

    def reply(peer, question):
        release.wait(20)

    async def other(sender):
        while server.connections < 1:
            await asyncio.sleep(0.001)
        return Block("the other one")

    with raw(reply) as server:
        bus.register(together(remote(server.url, deadline=ENOUGH), other))
        try:
            with pytest.raises(HookBlocked, match="the other one"):
                asyncio.run(tool_call("read", {}))
        finally:
            release.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_uses_connections_of_its_own():
    bus = Bus()

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        return "ran"

    with answering(PERMIT) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        tool_call("parent", {})
        assert in_a_child(lambda: tool_call("child", {}))
        tool_call("parent", {})
    asked = [each["resource"]["id"] for each in server.questions]
    assert asked == ["parent", "child", "parent"] and server.connections == 2


def test_a_deadline_is_kept_while_all_threads_of_the_pool_wait(bus, tool_call):
    async def main():
        calls = (tool_call("read", {}) for _ in range(100))
        return await asyncio.gather(*calls, return_exceptions=True)

    release = threading.Event()
    with raw(lambda peer, question: release.wait(20)) as server:
        bus.register(remote(server.url, deadline=0.3))
        began = time.monotonic()
        answers = asyncio.run(main())
        seconds = time.monotonic() - began
        release.set()
    assert {each.reason for each in answers} == {
        "the policy server did not answer within 0.3 seconds"
    }
    assert seconds < 15
