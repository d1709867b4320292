"""The order of receivers is one rule, the same in every process and whatever the order of
connection.
"""

import itertools
import json
import os
import subprocess
import sys

import pytest

from hookbus import ANY, Bus, explain, hookable

PROGRAM = """
import json
from hookbus import ANY, Bus, hookable
bus = Bus()
class Base:
    @hookable("reply", bus=bus)
    def reply(self): return []
class Child(Base): pass
child, ran = Child(), []
signal = bus.signal("pre_reply")
for n in range(24):
    sender = (ANY, Base, Child, child)[n % 4]
    role = ("observe", "modify", "guard")[n % 3]
    signal.connect(lambda agent, n=n: ran.append(n), sender=sender, role=role, name=f"r{n}",
                   priority=(n * 7) % 5, after=[f"r{n - 3}"] if n in (9, 14) else ())
child.reply()
print(json.dumps(ran))
"""


def order_in_a_process(seed):
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    return json.loads(ran.stdout)


def test_H2_G27_forty_processes_with_different_hash_seeds_run_in_one_order():
    orders = [order_in_a_process(seed) for seed in range(40)]
    assert sorted(orders[0]) == list(range(24))
    assert all(order == orders[0] for order in orders)


@pytest.fixture
def Agent():
    class Agent:
        bus = Bus()

        @hookable("reply", bus=bus)
        def reply(self):
            return None

    return Agent


def order_of(Agent, connections):
    """Connect receivers, given as name and options, and return the names in the order they run."""
    agent = Agent()
    for name, sender, options in connections:
        scope = {"instance": agent, "class": Agent, "any": ANY}[sender]
        Agent.bus.signal("pre_reply").connect(
            lambda agent: None, sender=scope, name=name, **options
        )
    names = [row.receiver for row in explain(agent.reply)]
    Agent.bus.signal("pre_reply")._clear_state()
    return names


def test_adding_receivers_in_any_order_gives_the_rules_order(Agent):
    ranked = [
        ("modify first", "any", {"priority": 5}),
        ("modify near", "instance", {}),
        ("modify far", "class", {}),
        ("guard high", "any", {"role": "guard", "priority": 9}),
        ("guard low", "instance", {"role": "guard"}),
        ("observer", "instance", {"role": "observe", "priority": 99}),
    ]
    expected = [name for name, _, _ in ranked]
    for connections in itertools.permutations(ranked):
        assert order_of(Agent, connections) == expected


def test_of_equals_the_earlier_connection_runs_first(Agent):
    assert order_of(Agent, [(name, "any", {}) for name in "dacb"]) == list("dacb")


def test_before_and_after_refine_the_order_and_disturb_nothing_else(Agent):
    connections = [
        ("a", "any", {}), ("b", "any", {"after": "d"}), ("c", "any", {}), ("d", "any", {}),
        ("e", "any", {"before": ("a", "nobody")}),
    ]  # fmt: skip
    assert order_of(Agent, connections) == ["c", "d", "b", "e", "a"]


def test_a_name_may_be_the_last_part_of_a_qualified_one(Agent):
    def late(agent):
        return None

    signal = Agent.bus.signal("pre_reply")
    signal.connect(late)
    signal.connect(lambda agent: None, name="early", before="late")
    assert [row.receiver.rpartition(".")[2] for row in explain(Agent().reply)] == ["early", "late"]


def test_a_receiver_matched_in_several_scopes_runs_once_at_its_nearest_place(Agent):
    ran, agent = [], Agent()

    def twice(a):
        ran.append("twice")

    signal = Agent.bus.signal("pre_reply")
    signal.connect(twice, role="observe")
    signal.connect(lambda a: ran.append("between"), sender=Agent, role="observe")
    signal.connect(twice, sender=agent, role="observe")
    agent.reply()
    assert ran == ["twice", "between"]


def test_a_receiver_matched_in_several_scopes_with_other_options_runs_besides(Agent):
    ran, agent = [], Agent()

    def twice(a):
        ran.append("twice")

    signal = Agent.bus.signal("pre_reply")
    signal.connect(twice, sender=ANY, role="observe", priority=9)
    signal.connect(lambda a: ran.append("between"), role="observe", priority=5)
    signal.connect(twice, sender=agent, role="observe")
    agent.reply()
    assert ran == ["twice", "between", "twice"]


def test_a_nearer_connection_that_does_not_match_leaves_the_farther_one_in_force(Agent):
    ran, agent = [], Agent()

    def check(a):
        ran.append("checked")

    signal = Agent.bus.signal("pre_reply")
    signal.connect(check, sender=Agent, role="guard")
    signal.connect(check, sender=agent, role="guard", when=lambda: False)
    agent.reply()
    assert ran == ["checked"]


def test_a_guard_stays_a_guard_where_the_same_function_observes_too(Agent):
    from hookbus import Block, HookBlocked

    agent = Agent()

    def check(a):
        return Block("no")

    Agent.bus.signal("pre_reply").connect(check, sender=Agent, role="guard")
    Agent.bus.signal("pre_reply").connect(check, sender=agent, role="observe")
    with pytest.raises(HookBlocked):
        agent.reply()


@pytest.fixture
def speaker():
    class Speaker:
        bus = Bus()

        @hookable("say", bus=bus)
        def say(self, msg):
            return msg

        @hookable("spell", bus=bus)
        def spell(self, msg):
            yield from msg

    return Speaker()


def connect_in_reserve(speaker, signal, receiver, **options):
    """Connect a receiver nearby for longer messages only, and farther away for all."""
    speaker.bus.signal(signal).connect(receiver, **options)
    speaker.bus.signal(signal).connect(
        receiver, sender=speaker, when=lambda msg: len(msg) > 3, **options
    )


def test_a_guard_in_reserve_is_asked_every_time_that_the_guards_are(speaker):
    seen = []

    def guard(speaker, msg):
        seen.append(msg)

    def patch(speaker, call_next):
        return call_next(msg="bye")

    connect_in_reserve(speaker, "pre_say", guard, role="guard")
    speaker.bus.signal("around_say").connect(patch)
    speaker.say("hi")
    assert seen == ["hi", "bye"]


@pytest.mark.parametrize("role", ["modify", "guard", "observe"])
def test_a_receiver_in_reserve_is_asked_for_every_item(speaker, role):
    seen = []

    def look(speaker, item):
        seen.append(item)

    connect_in_reserve(speaker, "item_spell", look, role=role)
    assert list(speaker.spell("abc")) == seen == ["a", "b", "c"]


def test_a_guard_in_reserve_is_asked_though_the_same_function_modifies_too(speaker):
    seen = []

    def look(speaker, msg):
        seen.append(msg)

    connect_in_reserve(speaker, "pre_say", look, role="guard")
    speaker.bus.signal("pre_say").connect(look, sender=type(speaker))
    speaker.say("hi")
    assert seen == ["hi", "hi"]
