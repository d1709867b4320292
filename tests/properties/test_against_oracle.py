"""hookbus against a second reading of its design: random programs, predicted and run. See
`examples` for their number.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookbus import Bus, HookError, hookable

from .described import COLOURS, Connection, Program, Receiver, Says
from .examples import examples
from .observation import observe
from .oracle import predict
from .programs import CLOSED, ordered_programs, programs
from .stage import LATER

in_every_colour = pytest.mark.parametrize("colour", COLOURS)


def asked(seen):
    return [entry[2] for entry in seen.log if entry[0] == "asked"]


def check(program: Program) -> None:
    """Fail unless a program goes as the oracle says."""
    seen, predicted = observe(program), predict(program)
    if seen != predicted and any(one.says.kind == "hang" for one in program.receivers):
        seen = observe(program, soon=LATER)
    assert seen == predicted, "\n" + predicted.beside(seen)


@in_every_colour
@examples(0.1)
@given(st.data())
def test_a_call_goes_as_the_design_says(colour, data):
    check(data.draw(programs(colour)))


@in_every_colour
@pytest.mark.parametrize("attempts", [({}, {"nope": 1}), ({"nope": 1}, {}), ({"nope": 1},)])
def test_an_attempt_with_a_bad_patch_changes_no_result_from_inside(colour, attempts):
    kind = "async" if colour == "async" else "sync"
    around = Receiver(
        "r0", "around", "modify", Says("through"), colour=kind, attempts=attempts, catches=True
    )
    check(Program(colour=colour, receivers=(around,), connections=(Connection("r0"),)))


@in_every_colour
@examples(0.02)
@given(st.data())
def test_G8_where_a_guard_blocks_or_fails_the_body_is_never_entered(colour, data):
    program = data.draw(programs(colour))
    says = data.draw(st.sampled_from(CLOSED))
    guard = Receiver("r99", "pre", "guard", says, colour="async" if program.is_async else "sync")
    scope = data.draw(
        st.sampled_from(
            ["any", "K0"] if program.kind in ("method", "classmethod") else ["any", "self"]
        )
    )
    priority = data.draw(st.integers(-9, 9))
    guarded = replace(
        program,
        entry=None,
        bodies=tuple(body and replace(body, hookable=True) for body in program.bodies),
        receivers=(*program.receivers, guard),
        connections=(
            *program.connections,
            Connection("r99", scope, priority, timed=says.kind == "hang"),
        ),
    )
    assert [entry for entry in observe(guarded).log if entry[0] == "entered"] == []


@in_every_colour
@examples(0.015)
@given(st.data())
def test_G16_without_its_observers_a_call_goes_the_same_way(colour, data):
    program = replace(data.draw(programs(colour)), is_listening=True)
    going_out = ("interrupt", "cancel", "leave", "swallow")
    observers = [
        one.name
        for one in program.receivers
        if one.role == "observe" and one.says.kind not in going_out
    ]
    alone = replace(
        program,
        connections=tuple(one for one in program.connections if one.receiver not in observers),
    )
    watched, unwatched = observe(program, soon=0.3), observe(alone, soon=0.3)
    assert watched.outcome[:3] == unwatched.outcome[:3]
    assert [entry for entry in watched.log if entry[2] not in observers] == list(unwatched.log)


@in_every_colour
@examples(0.01)
@given(st.data())
def test_connecting_again_with_the_same_options_changes_nothing(colour, data):
    program = data.draw(programs(colour))
    places = [(one.receiver, one.scope) for one in program.connections]
    single = [
        one
        for one in program.connections
        if places.count((one.receiver, one.scope)) == 1 and not one.early
    ]
    again = data.draw(st.lists(st.sampled_from(single), max_size=3)) if single else []
    twice = replace(program, connections=(*program.connections, *again))
    once, repeated = observe(program, soon=0.3), observe(twice, soon=0.3)
    assert (once.outcome, once.log) == (repeated.outcome, repeated.log)


@examples(0.01)
@given(ordered_programs(), st.randoms(use_true_random=False))
def test_G27_receivers_of_different_rank_run_in_one_order_whoever_was_connected_first(
    program, random
):
    connections = list(program.connections)
    random.shuffle(connections)
    shuffled = replace(program, connections=tuple(connections))
    assert asked(observe(shuffled)) == asked(observe(program))


@examples(0.005)
@given(ordered_programs())
def test_G27_the_order_is_role_then_priority_then_the_nearer_scope(program):
    scopes, roles = ("self", "K0", "K1", "any"), ("modify", "guard", "observe")
    rank = {
        one.receiver: (
            roles.index(program.receiver(one.receiver).role),
            -one.priority,
            scopes.index(one.scope),
        )
        for one in program.connections
    }
    assert asked(observe(program)) == sorted(rank, key=rank.__getitem__)


@examples(0.005)
@given(st.permutations([f"r{index}" for index in range(6)]))
def test_G27_receivers_of_one_rank_run_in_the_order_in_which_they_were_connected(names):
    receivers = tuple(Receiver(name, "pre") for name in names)
    program = Program(receivers=receivers, connections=tuple(Connection(name) for name in names))
    assert asked(observe(program)) == list(names)


@examples(0.005)
@given(st.permutations([f"r{index}" for index in range(5)]), st.permutations(range(5)))
def test_before_and_after_alone_decide_a_chain_whoever_was_connected_first(chain, order):
    links = [Connection(one, before=(other,)) for one, other in zip(chain, chain[1:])]
    links = [
        link if index % 2 else Connection(link.receiver) for index, link in enumerate(links)
    ] + [Connection(chain[-1])]
    after = {
        other: one for index, (one, other) in enumerate(zip(chain, chain[1:])) if index % 2 == 0
    }
    links = [
        replace(link, after=(after[link.receiver],)) if link.receiver in after else link
        for link in links
    ]
    receivers = tuple(Receiver(name, "pre") for name in chain)
    program = Program(receivers=receivers, connections=tuple(links[index] for index in order))
    assert asked(observe(program)) == list(chain)


@examples(0.005)
@given(st.integers(2, 6), st.data())
def test_the_connection_that_closes_a_cycle_is_refused_and_nothing_changes(size, data):
    ran, bus = [], Bus()

    class Agent:
        @hookable("work", bus=bus)
        def work(self): ...

    def connect(index):
        after = (f"r{(index + 1) % size}",)
        bus.signal("pre_work").connect(
            lambda agent: ran.append(index), name=f"r{index}", after=after
        )

    order = data.draw(st.permutations(range(size)))
    for index in order[:-1]:
        connect(index)
    Agent().work()
    before = list(ran)
    with pytest.raises(HookError):
        connect(order[-1])
    Agent().work()
    assert ran == before * 2
