"""Whatever its signature, a receiver whose parameters are read from its code is asked as one that
`inspect` has read.
"""

from hypothesis import given
from hypothesis import strategies as st

from hookbus import Bus, HookContext, HookError, hookable

from .examples import examples
from .signatures import NAMES, Signature, signatures

WRAPS = {"classmethod": classmethod, "staticmethod": staticmethod}


def written(signature, colour, *, is_marked):
    """A function with an attribute may be more than its code says, so `inspect` is asked."""
    work = signature.function(colour)
    if is_marked:
        work.mark = True
    if signature.kind == "function":
        return work
    owner = type("Owner", (), {"work": WRAPS.get(signature.kind, lambda work: work)(work)})
    return owner().work if signature.kind == "method" else owner.work


def outcome(receiver, names):
    """What the receiver was given, or why it was refused. As a modifier of `post` it answers with
    its own `locals()`.
    """
    bus, values = Bus(), {name: f"the {name}" for name in names}
    method = Signature("method", "own", (), names, None, (), None, frozenset())
    agent = type("Agent", (), {"work": hookable("work", bus=bus)(method.function("sync"))})()
    try:
        bus.signal("post_work").connect(receiver, sender=agent)
    except HookError as error:
        return str(error)
    given_to = agent.work(**values)
    return {name: shown(value, agent) for name, value in given_to.items()}


def shown(value, agent):
    if isinstance(value, HookContext):
        return "HookContext"
    if isinstance(value, (tuple, list)):
        return [shown(each, agent) for each in value]
    if isinstance(value, dict):
        return {name: shown(each, agent) for name, each in value.items()}
    if value is agent:
        return type(value).__name__
    return "owner" if "Owner" in (type(value).__name__, getattr(value, "__name__", None)) else value


@examples(0.5)
@given(data=st.data(), colour=st.sampled_from(("sync", "sync", "sync", "async")))
def test_a_receiver_is_asked_the_same_whichever_way_its_parameters_are_read(data, colour):
    signature = data.draw(signatures())
    others = data.draw(st.lists(st.sampled_from(NAMES), max_size=3))
    left_out = data.draw(st.sets(st.sampled_from(signature.names or NAMES), max_size=2))
    names = tuple(
        name for name in dict.fromkeys((*others, *signature.names)) if name not in left_out
    )
    by_code, by_inspect = (
        outcome(written(signature, colour, is_marked=marked), names) for marked in (False, True)
    )
    assert by_code == by_inspect
