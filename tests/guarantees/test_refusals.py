"""What cannot be kept is refused when it is connected, and nothing is registered (G20, C11, C19).
"""

from __future__ import annotations

import gc

import pytest

from hookbus import ANY, Block, Bus, HookBlocked, HookError, events

from ._cells import ON_ERROR, POLICIES, STREAMS, TARGETS
from ._colours import make_agent, take

ROLE_AND_PHASE = [
    *[("modify", phase) for phase in ("pre", "item", "post", "error")],
    *[("guard", phase) for phase in ("pre", "item", "post")],
    *[("observe", phase) for phase in ("pre", "item", "post", "error", "finally")],
]
NO_SUCH_ROLE = [
    ("guard", "error"),
    ("modify", "finally"),
    ("guard", "finally"),
    *[(role, "around") for role in ("modify", "guard", "observe")],
]


@pytest.fixture
def bus():
    return Bus()


def receiver(agent, ctx):
    raise AssertionError("a refused receiver must not run")


def assert_refused_and_unregistered(bus, phase, agent, colour, **options):
    signal = bus.signal(f"{phase}_reply")
    for sender in (agent, type(agent), ANY):
        with pytest.raises(HookError):
            signal.connect(receiver, sender=sender, **options)
    assert take(colour, agent, "hello") == "hello"
    assert not list(signal.receivers_for(agent))


@pytest.mark.parametrize("colour", TARGETS)
@pytest.mark.parametrize(
    ("role", "phase", "on_error"),
    [
        (role, phase, on_error)
        for role, phase in ROLE_AND_PHASE
        for on_error in ON_ERROR
        if on_error not in POLICIES[role]
    ],
)
def test_a_policy_the_role_does_not_have_is_refused(bus, colour, role, phase, on_error):
    agent = make_agent(bus, colour)
    assert_refused_and_unregistered(bus, phase, agent, colour, role=role, on_error=on_error)


@pytest.mark.parametrize("colour", TARGETS)
@pytest.mark.parametrize("on_error", ["isolate", "block"])
def test_a_policy_an_around_does_not_have_is_refused(bus, colour, on_error):
    assert_refused_and_unregistered(
        bus, "around", make_agent(bus, colour), colour, on_error=on_error
    )


@pytest.mark.parametrize("colour", TARGETS)
@pytest.mark.parametrize(("role", "phase"), NO_SUCH_ROLE)
def test_a_role_the_phase_does_not_have_is_refused(bus, colour, role, phase):
    assert_refused_and_unregistered(bus, phase, make_agent(bus, colour), colour, role=role)


@pytest.mark.parametrize("colour", TARGETS)
@pytest.mark.parametrize("phase", ["pre", "post"])
def test_a_guard_held_weakly_is_refused(bus, colour, phase):
    assert_refused_and_unregistered(
        bus, phase, make_agent(bus, colour), colour, role="guard", weak=True
    )


@pytest.mark.parametrize("colour", TARGETS)
def test_a_guard_that_is_a_method_of_its_own_sender_lives_as_long_as_that(bus, colour):
    agent = make_agent(bus, colour)
    type(agent).forbid = lambda self, sender: Block("forbidden")
    bus.signal("pre_reply").connect(agent.forbid, sender=agent, role="guard")
    gc.collect()
    with pytest.raises(HookBlocked, match="forbidden"):
        take(colour, agent, "hello")


@pytest.mark.parametrize("colour", STREAMS)
def test_a_post_guard_on_a_stream_is_refused_where_that_is_known(bus, colour):
    agent = make_agent(bus, colour)
    with pytest.raises(HookError, match="item"):
        bus.signal("post_reply").connect(receiver, sender=agent, role="guard")
    assert take(colour, agent, "hello") == "hello"


@pytest.mark.parametrize("colour", STREAMS)
def test_a_post_guard_that_was_there_before_the_stream_blocks_it(bus, colour):
    heard = []
    bus.events.connect(lambda bus, event: heard.append(event))
    bus.signal("post_reply").connect(receiver, role="guard", name="too late")
    with pytest.raises(HookBlocked) as blocked:
        take(colour, make_agent(bus, colour), "hello")
    assert blocked.value.receiver == "too late"
    assert [type(event) for event in heard] == [
        events.Started,
        events.Failed,
        events.Blocked,
        events.Finished,
    ]
    assert {
        event.phase for event in heard if isinstance(event, events.Failed | events.Blocked)
    } == {"post"}
    assert heard[-1].outcome == "blocked"


@pytest.mark.parametrize("colour", TARGETS)
@pytest.mark.parametrize("timeout", [0, -1, True, float("inf"), float("nan"), "soon"])
def test_a_deadline_that_is_none_is_refused(bus, colour, timeout):
    assert_refused_and_unregistered(bus, "pre", make_agent(bus, colour), colour, timeout=timeout)


@pytest.mark.parametrize("colour", TARGETS)
def test_a_guard_for_one_call_only_is_refused(bus, colour):
    assert_refused_and_unregistered(
        bus, "pre", make_agent(bus, colour), colour, role="guard", once=True
    )
