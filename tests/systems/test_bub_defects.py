"""What is wrong in Bub's hooks and in pluggy is right in hookbus. No Bub is needed here."""

import asyncio
import gc
import warnings

import pytest

from hookbus import (
    HookBlocked,
    HookError,
    Replace,
    explain,
    hookable,
    modes,
    receives,
    report,
)  # fmt: skip
from hookbus.events import Failed, Mutated, Started
from hookbus.testing import record

from .questions import async_question, question


@pytest.fixture
def Agent(bus):
    class Agent:
        @hookable("tool", bus=bus)
        async def tool(self, name, arguments=None):
            if name == "broken":
                raise LookupError("broken")
            if name == "hang":
                await asyncio.sleep(60)
            return f"{name}: {arguments}"

    return Agent


def broken():
    raise LookupError("broken")


def test_bub_XB1_XP1_one_that_raises_is_reported_and_the_others_answer(bus):
    asked = question(bus, modes.broadcast)
    for receiver in (lambda: "a", broken, lambda: "c"):
        asked.connect(receiver)
    with record(bus) as fired:
        assert asked() == ["a", "c"]
    [failed] = asked.ask().failures
    assert [event.receiver for event in fired.of(Failed)] == ["broken"] == [failed.receiver]
    asked.connect(broken, on_error="raise")  # the policy is the receiver's
    with pytest.raises(HookError, match="broken failed in ask"):
        asked()


def test_bub_XB2_an_around_wraps_every_mode_and_a_generator_object_decides_nothing(bus):
    for mode, expected in (
        (modes.firstresult, ["a"]),
        (modes.broadcast, [["a", "b"]]),
        (modes.void, [None]),
    ):
        asked = question(bus, mode, f"ask_{mode.__name__}")
        asked.connect(lambda: "a", name="a")
        asked.connect(lambda: "b", name="b")
        bus.signal(f"around_ask_{mode.__name__}").connect(lambda question, call_next: [call_next()])
        assert asked() == expected


async def test_bub_XB2_XB7_a_guard_that_is_a_generator_is_refused_and_one_without_a_verdict_blocks(
    bus, Agent
):
    def generator(agent):
        yield

    with pytest.raises(HookError, match="policy .* contains a yield"):
        bus.signal("pre_tool").connect(generator, role="guard", name="policy")
    for wrong in (lambda agent: False, lambda agent: {"cmd": "rm"}, lambda agent: broken()):
        with (
            bus.signal("pre_tool").connected_to(wrong, role="guard", name="policy"),
            pytest.raises(HookBlocked) as blocked,
        ):
            await Agent().tool("ls")
        assert "policy" in str(blocked.value)


def test_bub_XB3_a_parameter_with_a_default_gets_the_value(bus):
    asked, seen = question(bus, modes.void), []
    asked.connect(lambda session_id="mine": seen.append(session_id))
    asked(session_id="given")
    assert seen == ["given"]


def test_bub_XB4_arguments_are_pruned_on_every_phase(bus):
    asked, seen = question(bus, modes.firstresult), []
    asked.connect(lambda: seen.append("answer") or 1, name="answer")
    for phase in ("pre", "post", "finally"):
        bus.signal(f"{phase}_ask").connect(
            lambda question, phase=phase: seen.append(phase), role="observe", name=phase
        )
    bus.signal("around_ask").connect(lambda question, call_next: call_next(), name="around")
    assert asked() == 1 and seen == ["pre", "answer", "post", "finally"]


def test_bub_XB5_only_who_is_connected_counts_and_one_that_declines_passes_to_the_next(bus):
    class Plugin:
        def ask(self):
            raise AssertionError("an ordinary method")

        @receives("ask", priority=1)
        def declines(self):
            return None

        @receives("ask")
        def answers(self, message):
            return f"re: {message}"

    asked = question(bus, modes.firstresult)
    bus.register(Plugin())
    assert asked() == "re: hi"


def test_bub_XB6_an_async_receiver_is_refused_where_nothing_awaits_it_and_no_coroutine_is_left(bus):
    async def later():
        return "never"

    asked = question(bus, modes.broadcast)
    with pytest.raises(HookError, match=r"later \(.*test_bub_defects\.py:\d+\).* is async"):
        asked.connect(later)
    asked.connect(lambda: later(), name="hidden")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asked() == []
        gc.collect()


async def test_bub_XB8_a_hung_guard_has_a_deadline_and_observers_run_side_by_side(bus, Agent):
    async def hang(agent):
        await asyncio.sleep(60)

    with (
        bus.signal("pre_tool").connected_to(hang, role="guard", timeout=0.02),
        pytest.raises(HookBlocked),
    ):
        await Agent().tool("ls")
    running, most = [], []

    async def observe(agent):
        running.append(1)
        most.append(len(running))
        await asyncio.sleep(0.01)
        running.pop()

    for name in "abcde":
        bus.signal("post_tool").connect(lambda agent: observe(agent), role="observe", name=name)
    await Agent().tool("ls")
    assert max(most) == 5


async def test_bub_XB9_a_rebinding_that_is_not_returned_counts_only_as_a_change_of_its_receiver(
    bus, Agent
):
    def rebind(agent, ctx):
        ctx.kwargs["arguments"] = "changed"

    def rebind_and_fail(agent, ctx):
        ctx.kwargs["arguments"] = "broken"
        raise LookupError("broken")

    def keep(agent, ctx):
        ctx.snapshot()["arguments"]["cmd"] = "rm"

    given = {"cmd": "ls"}
    for receiver in (keep, rebind_and_fail):
        bus.signal("pre_tool").connect(receiver)
    assert await Agent().tool("bash", given) == "bash: {'cmd': 'ls'}"
    bus.signal("pre_tool").connect(rebind)
    with record(bus) as fired:
        assert await Agent().tool("bash", given) == "bash: changed"
    assert given == {"cmd": "ls"} and [
        (event.receiver.rpartition(".")[2], event.name) for event in fired.of(Mutated)
    ] == [("rebind", "arguments")]


def test_bub_XB10_XP7_a_wrong_name_is_told_at_once(bus):
    asked = question(bus, modes.broadcast)
    with pytest.raises(
        HookError, match="'mesage', which ask does not have; did you mean 'message'"
    ):
        asked.connect(lambda mesage: None)
    bus.signal("pre_aks").connect(lambda question: None, name="typo")
    assert any("pre_aks" in finding and "ask" in finding for finding in report(bus).findings)
    with pytest.raises(TypeError):
        asked(mesage="hi")


def test_bub_XB11_events_see_every_way_of_asking(bus):
    asked = question(bus, modes.broadcast, historic=True)
    with record(bus) as fired:
        asked()
        asked.ask()
        asked.connect(lambda: "late")
        asked.replay()
    assert [event.hook for event in fired.of(Started)] == ["ask"] * 4


@pytest.mark.parametrize("error", [LookupError, SystemExit])
def test_bub_XB12_the_event_names_who_failed_whatever_it_raised(bus, error):
    def failing():
        raise error("out")

    asked = question(bus, modes.void)
    asked.connect(failing, name="failing")
    with record(bus) as fired:
        try:
            asked()
        except SystemExit:
            assert error is SystemExit  # an interrupt passes, and is told
    assert [(event.receiver, event.action) for event in fired.of(Failed)] == [
        ("failing", "raised" if error is SystemExit else "isolated")
    ]


def test_bub_XB13_explain_lists_receivers_in_the_order_they_run(bus):
    asked, told = question(bus, modes.void), []
    for name, priority in (("p0", 0), ("p1", 1)):
        asked.connect(lambda name=name: told.append(name), name=name, priority=priority)
    asked()
    assert [row.receiver for row in explain(asked)] == told == ["p1", "p0"]


async def test_bub_XB14_call_next_reaches_whoever_is_willing_or_raises_what_the_host_says(bus):
    def nobody():
        raise RuntimeError("no model is there")

    asked = async_question(bus, modes.with_default(modes.firstresult, nobody))

    async def wrap(question, call_next):
        return f"<{await call_next()}>"

    async def declines():
        return None

    bus.signal("around_ask").connect(wrap)
    asked.connect(declines)
    with asked.connected_to(lambda: "parent", priority=-1):
        assert await asked() == "<parent>"
    with pytest.raises(RuntimeError, match="no model is there"):
        await asked()


async def test_bub_XB15_an_error_receiver_rescues_an_around_is_there_and_finally_sees_cancellation(
    bus, Agent
):
    outcomes = []
    bus.signal("finally_tool").connect(lambda agent, ctx: outcomes.append(ctx.outcome), name="look")
    with bus.signal("error_tool").connected_to(
        lambda agent, error: Replace(f"rescued from {error!r}")
    ):
        assert await Agent().tool("broken") == "rescued from LookupError('broken')"
    task = asyncio.create_task(Agent().tool("hang"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert outcomes == ["replaced", "cancelled"]


async def test_bub_XB16_receivers_have_a_number_a_scope_a_session_and_a_handle(bus, Agent):
    agent, other, told = Agent(), Agent(), []

    def saying(word):
        return lambda agent: told.append(word)

    bus.signal("pre_tool").connect(saying("late"), priority=-1, name="late")
    early = bus.signal("pre_tool").connected_to(saying("early"), priority=1.5, name="early")
    bus.signal("pre_tool").connect(saying("mine"), sender=agent, name="mine")
    bus.signal("pre_tool").connect(saying("ls only"), when={"name": "ls"}, name="ls only")
    await agent.tool("ls")
    early.disconnect()
    await other.tool("cat")
    assert told == ["early", "mine", "ls only", "late", "late"]
