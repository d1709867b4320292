"""What AgenticX's hooks can do, written in hookbus itself."""

import asyncio

import pytest

from hookbus import Block, HookBlocked, Replace, explain, hookable, receives
from hookbus.exceptions import HookError


@pytest.fixture
def agent(bus):
    class Agent:
        def __init__(self):
            self.ran = []

        @hookable("llm_call", bus=bus)
        async def ask(self, messages, model="small", iteration=0):
            return f"{len(messages)} messages"

        @hookable("tool_call", bus=bus)
        async def use(self, tool, args, iteration=0):
            self.ran.append((tool, args))
            return f"{tool} done"

        @hookable("run", bus=bus)
        async def run(self, task):
            return await self.use("ls", {"task": task})

        @hookable("compaction", bus=bus)
        def compact(self, count, summary):
            return summary

    return Agent()


def test_agenticx_C1_C2_C4_before_and_after_models_and_tools_a_receiver_asks_for_what_it_needs(
    bus, agent
):
    seen = []
    bus.signal("pre_llm_call").connect(
        lambda agent, messages, iteration: {"messages": [*messages, "be kind"]}, name="kind"
    )
    bus.signal("pre_tool_call").connect(
        lambda agent, tool: Block("no rm") if tool == "rm" else None, role="guard", name="guard"
    )
    bus.signal("post_llm_call").connect(
        lambda agent, result, model: seen.append((model, result)), role="observe", name="log"
    )
    assert asyncio.run(agent.ask(["hello"])) == "2 messages" and seen == [("small", "2 messages")]
    with pytest.raises(HookBlocked, match="no rm"):
        asyncio.run(agent.use("rm", {}))
    assert agent.ran == []


def test_agenticx_C3_C6_B2_receivers_are_connected_once_listed_and_taken_out(bus, agent):
    def policy(agent):
        asked.append(1)

    asked, signal = [], bus.signal("pre_tool_call")
    for _ in range(2):
        signal.connect(policy)
    asyncio.run(agent.use("ls", {}))
    assert asked == [1] and len(explain(agent.use)) == 1
    signal.disconnect(policy)
    asyncio.run(agent.use("ls", {}))
    assert asked == [1] and len(explain(agent.use)) == 0


def test_agenticx_C5_B5_R5_after_a_call_each_receiver_sees_what_the_one_before_made_of_the_result(
    bus, agent
):
    bus.signal("post_tool_call").connect(
        lambda agent, result: result.upper(), name="upper", priority=1
    )
    bus.signal("post_tool_call").connect(lambda agent, result: {"text": result}, name="wrap")
    assert asyncio.run(agent.use("ls", {})) == {"text": "LS DONE"}


def test_agenticx_C8_B1_B8_D1_whoever_listens_hears_every_call_with_who_when_and_inside_of_what(
    bus, agent
):
    def hear(bus, event):
        heard.append((type(event).__name__, event.hook, event.call_id, event.parent_id))

    heard = []
    bus.events.connect(hear)
    asyncio.run(agent.run("a task"))
    [outer, inner, *_] = heard
    assert [each[:2] for each in heard] == [
        ("Started", "run"), ("Started", "tool_call"), ("Finished", "tool_call"),
        ("Finished", "run"),
    ]  # fmt: skip
    assert inner[3] == outer[2] and outer[3] is None


def test_agenticx_B2_one_receiver_for_many_tools_or_for_one(bus, agent):
    heard = []
    bus.signal("pre_tool_call").connect(lambda agent, tool: heard.append("any"), name="any")
    bus.signal("pre_tool_call").connect(
        lambda agent, tool: heard.append("files"), when={"tool": "file_*"}, name="files"
    )
    for tool in ("ls", "file_read"):
        asyncio.run(agent.use(tool, {}))
    assert heard == ["any", "any", "files"]


def test_agenticx_B3_B7_the_first_block_is_final_and_says_what_the_caller_gets(bus, agent):
    asked = []
    signal = bus.signal("pre_tool_call")
    signal.connect(
        lambda agent: Block("no", result="blocked by policy"), role="guard", name="first",
        priority=1,
    )  # fmt: skip
    signal.connect(lambda agent: asked.append(1), role="guard", name="later")
    assert asyncio.run(agent.use("rm", {})) == "blocked by policy" and asked == agent.ran == []


def test_agenticx_B4_a_plain_call_asks_plain_receivers_in_its_own_thread_also_where_a_loop_runs(
    bus, agent
):
    async def slow(agent):
        return None

    async def inside():
        return agent.compact(3, "short")

    bus.signal("pre_compaction").connect(
        lambda agent, summary: {"summary": summary.upper()}, name="loud"
    )
    assert agent.compact(3, "short") == asyncio.run(inside()) == "SHORT"
    with pytest.raises(HookError, match="async"):
        bus.signal("pre_compaction").connect(slow)


def test_agenticx_B6_receivers_of_one_agent_and_of_all(bus, agent):
    notes, other = [], type(agent)()
    bus.signal("pre_tool_call").connect(lambda agent: notes.append("all"), name="all", priority=1)
    bus.signal("pre_tool_call").connect(
        lambda agent: notes.append("mine"), sender=agent, name="mine"
    )
    for each in (agent, other):
        asyncio.run(each.use("ls", {}))
    assert notes == ["all", "mine", "all"]


def test_agenticx_B9_what_an_observer_starts_is_waited_for_and_its_failure_is_told(bus, agent):
    from hookbus.events import Failed

    written, failures = [], []

    async def write(agent, result):
        await asyncio.sleep(0.01)
        written.append(result)

    async def broken(agent):
        await asyncio.sleep(0)
        raise LookupError("the disk is full")

    bus.events.connect(
        lambda bus, event: failures.append(event) if isinstance(event, Failed) else None, weak=False
    )
    bus.signal("post_tool_call").connect(write, role="observe")
    bus.signal("post_tool_call").connect(broken, role="observe")
    assert asyncio.run(agent.use("ls", {})) == "ls done"
    assert written == ["ls done"] and [type(event.exception) for event in failures] == [LookupError]


def test_agenticx_R1_R2_R3_R4_R6_R7_a_class_of_receivers_with_priorities_for_every_moment_of_a_turn(
    bus, agent
):
    notes = []

    class Careful:
        @receives("pre_run", role="observe")
        def started(self, agent, task):
            notes.append(("start", task))

        @receives("pre_llm_call", priority=10)
        def shorten(self, agent, messages):
            return {"messages": messages[-1:]}

        @receives("pre_tool_call", role="guard")
        async def no_shell(self, agent, tool):
            return Block("no shell") if tool in ("bash", "run_terminal_cmd") else None

        @receives("post_compaction", role="observe")
        def compacted(self, agent, count):
            notes.append(("compacted", count))

        @receives("finally_run")
        def ended(self, agent, ctx):
            raise LookupError("nobody is hurt")

    unregister = bus.register(Careful())
    assert asyncio.run(agent.run("a task")) == "ls done" and agent.compact(3, "short") == "short"
    assert asyncio.run(agent.ask(["a", "b"])) == "1 messages"
    with pytest.raises(HookBlocked, match="no shell"):
        asyncio.run(agent.use("bash", {}))
    assert notes == [("start", "a task"), ("compacted", 3)]
    unregister()
    assert asyncio.run(agent.use("bash", {})) == "bash done"


def test_agenticx_R8_R9_one_bus_serves_every_layer_and_a_priority_says_who_is_first(bus, agent):
    notes = []
    for name, priority in (("freeze", -55), ("bridge", 100), ("memory", -10)):
        bus.signal("pre_run").connect(
            lambda agent, name=name: notes.append(name), priority=priority, name=name
        )
    bus.signal("pre_tool_call").connect(lambda agent: notes.append("tool"), name="tool")
    asyncio.run(agent.run("a task"))
    assert notes == ["bridge", "memory", "freeze", "tool"]


def test_agenticx_R10_D2_a_guard_that_cannot_decide_closes_and_nobody_else_needs_a_try(bus, agent):
    async def provider(agent, tool):
        raise ConnectionError("no policy server")

    bus.signal("pre_tool_call").connect(provider, role="guard")
    with pytest.raises(HookBlocked, match="ConnectionError"):
        asyncio.run(agent.use("ls", {}))
    bus.require_guard("tool_call", sender=agent)  # AgenticX is imported here, without its adapter


def test_agenticx_R11_calls_at_once_are_each_asked_about(bus, agent):
    asked = []
    bus.signal("pre_tool_call").connect(
        lambda agent, args: asked.append(args["n"]), role="guard", name="guard"
    )

    async def all_at_once():
        return await asyncio.gather(*(agent.use("ls", {"n": n}) for n in range(5)))

    assert len(asyncio.run(all_at_once())) == 5 and sorted(asked) == list(range(5))


def test_agenticx_C4_a_modifier_answers_in_place_of_the_model(bus, agent):
    bus.signal("pre_llm_call").connect(
        lambda agent, messages: Replace("from the cache"), name="cache"
    )
    assert asyncio.run(agent.ask(["hello"])) == "from the cache"
