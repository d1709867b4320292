"""What is around the method."""

import pytest

from hookbus import Block, HookBlocked, HookError


def test_arounds_wrap_outermost_first(bus, agent, ran):
    for name in ("outer", "inner"):

        def around(a, call_next, name=name):
            ran.append(f"{name} in")
            result = call_next()
            ran.append(f"{name} out")
            return f"{name}({result})"

        bus.signal("around_reply").connect(around, name=name)
    assert agent.reply("a") == "outer(inner(re: a))"
    assert ran == ["outer in", "inner in", ("body", "a"), "inner out", "outer out"]


def test_an_around_may_substitute_and_the_call_is_replaced(bus, agent, ran):
    bus.signal("around_reply").connect(lambda a, call_next: "cached")
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("a") == "cached" and ran == ["replaced"]


def test_what_an_inner_around_makes_up_did_not_come_from_the_method(bus, agent, ran):
    for around in (lambda a, call_next: call_next(), lambda a, call_next: "cached"):
        bus.signal("around_reply").connect(around)
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("a") == "cached" and ran == ["replaced"]


def test_who_comes_after_an_around_sees_the_arguments_it_patched(bus, agent, ran):
    bus.signal("around_reply").connect(lambda a, call_next: call_next(msg="patched"))
    for name in ("post_reply", "finally_reply"):
        bus.signal(name).connect(lambda a, ctx: ran.append((ctx.kwargs["msg"], ctx.outcome)))
    agent.reply("a")
    assert ran == [("body", "patched"), ("patched", None), ("patched", "returned")]


def test_call_next_of_an_around_that_failed_is_of_no_use_to_the_one_outside(bus, agent, ran):
    kept = []

    def outer(a, call_next):
        with pytest.raises(ValueError):
            call_next()
        with pytest.raises(HookError, match="after its around had ended"):
            kept[0]()
        return "fallback"

    def inner(a, call_next):
        kept.append(call_next)
        raise ValueError

    for around in (outer, inner):
        bus.signal("around_reply").connect(around)
    assert agent.reply("a") == "fallback" and ran == []


def test_guards_judge_again_what_an_around_patches(bus, agent, ran):
    bus.signal("pre_reply").connect(
        lambda a, msg: Block("bad") if msg == "bad" else None, role="guard", name="guard"
    )
    bus.signal("around_reply").connect(lambda a, call_next: call_next(msg="bad"))
    with pytest.raises(HookBlocked, match="bad"):
        agent.reply("good")
    assert ran == []


def test_guards_judge_again_every_repeated_attempt(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: ran.append("guard"), role="guard")
    bus.signal("around_reply").connect(lambda a, call_next: (call_next(), call_next())[1])
    agent.reply("a")
    assert ran == ["guard", ("body", "a"), "guard", ("body", "a")]


def test_guards_are_asked_once_where_an_around_neither_patches_nor_repeats(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: ran.append("guard"), role="guard")
    bus.signal("around_reply").connect(lambda a, call_next: call_next())
    agent.reply("a")
    assert ran == ["guard", ("body", "a")]


def test_no_around_undoes_a_block(bus, agent, ran):
    bus.signal("pre_reply").connect(
        lambda a, msg: Block("bad") if msg == "bad" else None, role="guard", name="guard"
    )

    def stubborn(a, call_next):
        for _ in range(2):
            try:
                call_next(msg="bad")
            except HookBlocked:
                ran.append("caught")
        return "all is well"

    bus.signal("around_reply").connect(stubborn)
    bus.signal("post_reply").connect(lambda a: ran.append("post"), role="observe")
    with pytest.raises(HookBlocked, match="bad"):
        agent.reply("good")
    assert ran == ["caught", "caught"]


@pytest.mark.parametrize("result", [{}, {"result": "instead"}], ids=["raises", "has a result"])
def test_an_interrupt_goes_out_though_the_call_is_blocked(bus, agent, result):
    bus.signal("pre_reply").connect(
        lambda a, msg: Block("bad", **result) if msg == "bad" else None, role="guard"
    )

    def interrupts(a, call_next):
        with pytest.raises(HookBlocked):
            call_next(msg="bad")
        raise KeyboardInterrupt

    outcomes = []
    bus.signal("around_reply").connect(interrupts)
    for _ in range(2):  # without anybody who looks at the end, and with
        with pytest.raises(KeyboardInterrupt):
            agent.reply("good")
        bus.signal("finally_reply").connect(lambda a, ctx: outcomes.append(ctx.outcome))
    assert outcomes == ["raised"]


def test_an_around_that_catches_a_block_finds_no_other_exception_in_it(bus, agent):
    found = []

    def breaks_at_last(a, msg):
        if msg == "patched":
            raise ValueError("secret")

    def looks(a, call_next):
        try:
            return call_next(msg="patched")
        except HookBlocked as blocked:
            found.append(blocked.__context__)
            raise

    bus.signal("around_reply").connect(looks)
    bus.signal("pre_reply").connect(breaks_at_last, role="guard")
    with pytest.raises(HookBlocked, match="guard failed"):
        agent.reply("a")
    assert found == [None]


def test_a_block_is_shown_with_no_other_exception(bus, agent):
    def breaks(a):
        raise ValueError("secret")

    def retries(a, call_next):
        try:
            return call_next(msg="raise")
        except LookupError:
            return call_next()

    def second_time(a, seen=[]):  # noqa: B006 - what it remembers
        seen.append(a)
        return Block("no") if len(seen) == 3 else None

    bus.signal("around_reply").connect(retries)
    bus.signal("pre_reply").connect(second_time, role="guard")
    with pytest.raises(HookBlocked, match="no") as blocked:
        agent.reply("a")
    assert blocked.value.__context__ is blocked.value.__cause__ is None
    bus.signal("pre_reply").connect(breaks, role="guard")
    with pytest.raises(HookBlocked, match="guard failed") as blocked:
        agent.reply("a")
    assert blocked.value.__context__ is blocked.value.__cause__ is None


def test_a_block_that_an_around_raises_again_hides_the_exception_that_it_was_handling(bus, agent):
    def raises_again(a, call_next):
        try:
            return call_next(msg="patched")
        except HookBlocked as blocked:
            try:
                raise ValueError("secret")
            except ValueError:
                raise blocked  # noqa: B904 - the context is what is tested

    bus.signal("around_reply").connect(raises_again)
    bus.signal("pre_reply").connect(
        lambda a, msg: Block("no") if msg == "patched" else None, role="guard"
    )
    with pytest.raises(HookBlocked, match="no") as blocked:
        agent.reply("a")
    assert blocked.value.__context__ is blocked.value.__cause__ is None


def test_an_around_may_catch_the_methods_exception(bus, agent, ran):
    def fallback(a, call_next):
        try:
            return call_next()
        except LookupError:
            return "fallback"

    bus.signal("around_reply").connect(fallback)
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("raise") == "fallback" and ran[-1] == "replaced"


def test_an_around_that_breaks_raises_and_is_chained_to_the_bodys_exception(bus, agent):
    def breaks(a, call_next):
        try:
            call_next()
        except LookupError:
            pass
        raise RuntimeError("broken around")

    bus.signal("around_reply").connect(breaks)
    with pytest.raises(RuntimeError) as error:
        agent.reply("raise")
    assert isinstance(error.value.__context__, LookupError)
