"""The tools for testing one's own hooks."""

import pytest

from hookbus import Block, Bus, HookBlocked, hookable, signal
from hookbus.testing import record


class Agent:
    @hookable("testing_reply")
    def reply(self, msg):
        return self.act(msg)

    @hookable("testing_act")
    def act(self, msg):
        return msg


def test_the_fixture_counts_what_fired_in_its_order(hook_recorder):
    Agent().reply("a")
    Agent().act("b")
    hook_recorder.exactly(testing_reply=1, testing_act=2)
    hook_recorder.in_order("testing_reply", "testing_act", "testing_act")
    hook_recorder.no_failures()
    assert hook_recorder.count("testing_act") == 2
    assert hook_recorder.outcomes == [
        ("testing_act", "returned"), ("testing_reply", "returned"), ("testing_act", "returned"),
    ]  # fmt: skip


def test_the_fixture_says_what_fired_instead(hook_recorder):
    Agent().act("b")
    with pytest.raises(
        AssertionError, match="expected exactly testing_act 2x, but got testing_act 1x"
    ):
        hook_recorder.exactly(testing_act=2)
    with pytest.raises(AssertionError, match="expected exactly nothing, but got testing_act 1x"):
        hook_recorder.exactly()
    with pytest.raises(AssertionError, match="in this order"):
        hook_recorder.in_order("testing_reply")
    with pytest.raises(AssertionError, match="others that did: none"):
        hook_recorder.blocked_by("guard")


def test_a_recording_names_blocks_and_failures(hook_recorder):
    def guard(agent):
        raise ValueError("broken")

    with (
        signal("pre_testing_act").connected_to(guard, sender=Agent, role="guard", name="guard"),
        pytest.raises(HookBlocked),
    ):
        Agent().act("a")
    [block] = hook_recorder.blocked_by("guard")
    assert block.reason == "guard failed: ValueError"
    with pytest.raises(AssertionError, match=r"guard in pre_testing_act: ValueError\('broken'\)"):
        hook_recorder.no_failures()


def test_a_recording_of_another_bus_ends_with_its_block():
    bus = Bus()

    @hookable("other", bus=bus)
    def other():
        return Block("data, not a verdict")

    with record(bus) as recording:
        other()
    other()
    recording.exactly(other=1)


def test_the_fixture_works_in_a_users_own_test_run(pytester):
    pytester.makepyfile("""
        from hookbus import hookable
        @hookable("mine")
        def mine(): return 1
        def test_it(hook_recorder):
            mine()
            hook_recorder.exactly(mine=1)
        def test_it_fails(hook_recorder):
            hook_recorder.exactly(mine=1)
    """)
    without = ("-pno:cacheprovider", "-pno:langsmith_plugin")
    pytester.runpytest_subprocess(*without).assert_outcomes(passed=1, failed=1)
