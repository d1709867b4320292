"""Whatever the signature, a hooked body gets exactly what a direct call gives it, and a wrong call
fails as the bare one.
"""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookbus import Bus, hookable

from .described import COLOURS
from .examples import examples
from .signatures import Value, calls, signatures

in_every_colour = pytest.mark.parametrize("colour", COLOURS)
WRAPS = {"classmethod": classmethod, "staticmethod": staticmethod}


class Pair:
    """The same `work` twice: bare and hooked."""

    def __init__(self, signature, colour, is_outside=False):
        self.signature, self.colour, self.bus = signature, colour, Bus()
        wrap, hook = WRAPS.get(signature.kind, lambda work: work), hookable("work", bus=self.bus)
        make = signature.function
        works = (
            wrap(make(colour)),
            hook(wrap(make(colour))) if is_outside else wrap(hook(make(colour))),
        )
        self.owners = tuple(type("Agent", (), {"work": work}) for work in works)
        self.bare, self.hooked = (self._reached(owner) for owner in self.owners)

    def _reached(self, owner):
        if self.signature.kind == "function":
            return owner.__dict__["work"]
        return (owner() if self.signature.kind == "method" else owner).work

    def result(self, work, arguments):
        """The body's arguments; TypeError comes from the call itself."""
        made = work(*arguments.positional, **arguments.named)
        got = {
            "sync": lambda: made,
            "async": lambda: asyncio.run(made),
            "generator": lambda: next(made),
        }.get(self.colour)
        return self.without_me(got() if got else asyncio.run(anext(made)))

    def without_me(self, got):
        if not self.signature.has_me:
            return got
        if self.signature.me:
            return {name: value for name, value in got.items() if name != self.signature.me}
        return {**got, self.signature.starred: got[self.signature.starred][1:]}

    def bound(self, arguments):
        """What the bare body gets, by name; `inspect` is wrong about an optional `x, /` beside
        `**kwargs`, on 3.11 and 3.13.0.
        """
        got = self.result(self.bare, arguments)
        return {name: got[name] for name in self.signature.names}


def identities(arguments):
    """The names in their order, with the identity of each value, and of each one in `*args` and
    `**kwargs`.
    """
    return [(name, _identity(value)) for name, value in arguments.items()]


def _identity(value):
    if isinstance(value, tuple):
        return [id(one) for one in value]
    return identities(value) if isinstance(value, dict) else id(value)


def right_calls(data, colour):
    """Draw a signature and a call that fits it."""
    signature = data.draw(signatures())
    pair = Pair(signature, colour, data.draw(st.booleans()))
    arguments = data.draw(calls(signature).filter(lambda drawn: _fits(pair, drawn)))
    return pair, arguments


def _fits(pair, arguments):
    try:
        pair.result(pair.bare, arguments)
    except TypeError:
        return False
    return True


@in_every_colour
@examples(0.03)
@given(st.data())
def test_with_nobody_listening_the_body_gets_what_a_direct_call_gives(colour, data):
    pair, arguments = right_calls(data, colour)
    assert identities(pair.result(pair.hooked, arguments)) == identities(
        pair.result(pair.bare, arguments)
    )


@in_every_colour
@examples(0.05)
@given(st.data())
def test_with_listeners_the_body_gets_what_a_direct_call_gives_and_each_of_them_is_shown_the_same(
    colour, data
):
    pair, arguments = right_calls(data, colour)
    bound, shown = identities(pair.bound(arguments)), []

    def by_context(agent_, /, ctx):
        shown.append(identities(ctx.kwargs) == bound)

    def by_everything(agent_, /, **everything):
        # Arguments of these two names are read through the context.
        shown.append(
            identities(everything)
            == [(name, value) for name, value in bound if name not in ("ctx", "call_next")]
        )

    listeners = data.draw(
        st.lists(st.sampled_from((by_context, by_everything)), min_size=1, unique=True)
    )
    for listener in listeners:
        pair.bus.signal("pre_work").connect(
            listener, role=data.draw(st.sampled_from(("modify", "guard", "observe")))
        )
    assert identities(pair.result(pair.hooked, arguments)) == identities(
        pair.result(pair.bare, arguments)
    )
    assert shown == [True] * len(listeners)


@in_every_colour
@examples(0.03)
@given(st.data())
def test_a_listener_is_given_any_argument_it_asks_for_by_name(colour, data):
    pair, arguments = right_calls(data, colour)
    bound, asked = pair.bound(arguments), []
    names = [name for name in pair.signature.names if name != "ctx"]
    for name in names:
        known = {"asked": asked}
        exec(
            f"def listener(agent_, /, {name}): asked.append((@, {name}))".replace("@", repr(name)),
            known,
        )
        pair.bus.signal("pre_work").connect(known["listener"])
    pair.result(pair.hooked, arguments)
    assert [(name, _identity(value)) for name, value in asked] == [
        (name, _identity(bound[name])) for name in names
    ]


@in_every_colour
@examples(0.03)
@given(st.data())
def test_what_a_modifier_assigns_replaces_that_argument_and_no_other(colour, data):
    pair, arguments = right_calls(data, colour)
    signature = pair.signature
    if not signature.names:
        return
    name = data.draw(st.sampled_from(signature.names))
    new = {signature.starred: (Value("new"),), signature.double_starred: {"new": Value("new")}}.get(
        name, Value("new")
    )
    is_patch = data.draw(st.booleans())

    def modifier(agent_, /, ctx):
        if not is_patch:
            ctx.kwargs[name] = new
        return {name: new} if is_patch else None

    pair.bus.signal("pre_work").connect(modifier)
    expected = {**pair.result(pair.bare, arguments), name: new}
    assert identities(pair.result(pair.hooked, arguments)) == identities(expected)


@in_every_colour
@examples(0.05)
@given(st.data())
def test_a_wrong_call_raises_the_bare_TypeError_at_the_call_and_asks_nobody(colour, data):
    signature = data.draw(signatures())
    pair = Pair(signature, colour, data.draw(st.booleans()))
    arguments = data.draw(calls(signature))
    if _fits(pair, arguments):
        arguments.named["unknown"] = Value("unknown")
    if _fits(pair, arguments):
        return
    asked = []
    if data.draw(st.booleans()):
        pair.bus.signal("pre_work").connect(lambda _: asked.append("pre"))
        pair.bus.signal("finally_work").connect(lambda _: asked.append("finally"))
        pair.bus.events.connect(lambda bus, event: asked.append(event))
    with pytest.raises(TypeError) as bare:
        pair.bare(*arguments.positional, **arguments.named)
    with pytest.raises(TypeError) as hooked:
        pair.hooked(*arguments.positional, **arguments.named)
    assert (str(hooked.value), asked) == (str(bare.value), [])
