"""What happens before the method: patches, blocks and failures, and its arguments."""

import copy

import pytest

from hookbus import Block, Drop, HookBlocked, HookContext, ReceiverError, Replace, events, hookable

# -- pre -------------------------------------------------------------------------------------------


def test_modifiers_then_guards_then_observers_see_what_the_method_will_get(bus, agent, ran):
    for role in ("observe", "guard"):
        bus.signal("pre_reply").connect(
            lambda a, msg, role=role: ran.append((role, msg)), role=role, name=role, priority=9
        )
    bus.signal("pre_reply").connect(lambda a, msg: {"msg": msg.upper()})
    assert agent.reply("a") == "re: A"
    assert ran == [("guard", "A"), ("observe", "A"), ("body", "A")]


def test_a_modifier_may_assign_in_its_context_and_return_a_patch(bus, agent, ran):
    def modify(a, ctx):
        ctx.kwargs["msg"] = "assigned"
        return {"temperature": 1}

    bus.signal("pre_reply").connect(modify)
    bus.signal("pre_reply").connect(
        lambda a, msg, temperature: ran.append((msg, temperature)), role="observe"
    )
    agent.reply("a")
    assert ran[0] == ("assigned", 1)


def test_a_modifier_that_raises_leaves_nothing_behind(bus, agent, ran):
    def half_way(a, ctx):
        ctx.kwargs["msg"] = "half"
        raise ValueError

    bus.signal("pre_reply").connect(half_way)
    assert agent.reply("a") == "re: a"


def test_a_late_write_to_a_draft_changes_nothing(bus, agent):
    kept = []
    bus.signal("pre_reply").connect(lambda a, ctx: kept.append(ctx))
    bus.signal("pre_reply").connect(
        lambda a: kept[0].kwargs.__setitem__("msg", "late"), name="later"
    )
    assert agent.reply("a") == "re: a"


def test_a_modifier_that_looks_at_the_context_may_replace_the_call(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a, ctx: Replace(ctx.kwargs["msg"] + "!"))
    assert agent.reply("a") == "a!" and ran == []


def test_replace_skips_later_modifiers_around_and_method_but_not_guards_and_post(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: Replace("cached"))
    bus.signal("pre_reply").connect(lambda a: ran.append("later modifier"), name="later")
    bus.signal("pre_reply").connect(lambda a: ran.append("guard"), role="guard")
    bus.signal("pre_reply").connect(lambda a: ran.append("observer"), role="observe", name="o")
    bus.signal("around_reply").connect(lambda a, call_next: ran.append("around"))
    bus.signal("post_reply").connect(lambda a, result: result + "!")
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("a") == "cached!"
    assert ran == ["guard", "observer", "replaced"]


def test_a_block_is_final_and_only_finally_follows(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: Block("first"), role="guard", name="first")
    bus.signal("pre_reply").connect(
        lambda a: ran.append("second guard"), role="guard", name="second"
    )
    for phase in ("error", "post"):
        bus.signal(f"{phase}_reply").connect(lambda a, phase=phase: ran.append(phase))
    bus.signal("around_reply").connect(lambda a, call_next: ran.append("around"))
    bus.signal("finally_reply").connect(lambda a, ctx, result: ran.append((ctx.outcome, result)))
    with pytest.raises(HookBlocked) as error:
        agent.reply("a")
    assert (error.value.reason, error.value.receiver, error.value.hook) == (
        "first", "first", "reply",
    )  # fmt: skip
    assert ran == [("blocked", None)]


@pytest.mark.parametrize("with_draft", [False, True])
@pytest.mark.parametrize("on_error", ["isolate", "block", "raise"])
def test_a_modifier_may_block_too(bus, agent, ran, with_draft, on_error):
    def plain(agent):
        return Block("no")

    def writes(agent, ctx):
        ctx.kwargs["msg"] = "other"
        return Block("no")

    bus.signal("pre_reply").connect(writes if with_draft else plain, on_error=on_error)
    bus.signal("pre_reply").connect(lambda a: ran.append("guard"), role="guard")
    with pytest.raises(HookBlocked, match="blocked by .*: no"):
        agent.reply("a")
    assert ran == []


def test_a_block_with_a_result_gives_the_caller_that_result_untouched(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: Block("no", result="refused"), role="guard")
    bus.signal("post_reply").connect(lambda a, result: result + "!")
    bus.signal("finally_reply").connect(lambda a, ctx: ran.append(ctx.outcome))
    assert agent.reply("a") == "refused" and ran == ["blocked"]


@pytest.mark.parametrize(
    "answer", [True, False, 0, "no", {"msg": "x"}, Replace("x"), Drop(), ...], ids=repr
)
def test_a_guard_that_answers_anything_but_none_or_block_blocks(bus, agent, ran, answer):
    bus.signal("pre_reply").connect(lambda a: answer, role="guard")
    with pytest.raises(HookBlocked, match="guard failed: .* returned an? .*; return None or Block"):
        agent.reply("a")
    assert ran == []


@pytest.mark.parametrize("swallow", [False, True])
@pytest.mark.parametrize("role", ["guard", "observe"])
def test_a_write_by_who_may_only_read_fails_even_if_swallowed(bus, agent, ran, role, swallow):
    told = []
    bus.events.connect(lambda bus, event: told.append(event))

    def write(a, ctx):
        try:
            ctx.kwargs["msg"] = "forged"
        except TypeError:
            if not swallow:
                raise

    bus.signal("pre_reply").connect(write, role=role)
    if role == "guard":
        with pytest.raises(HookBlocked):
            agent.reply("a")
    else:
        assert agent.reply("a") == "re: a"
    assert [event.action for event in told if isinstance(event, events.Failed)] == [
        "blocked" if role == "guard" else "isolated"
    ]


@pytest.mark.parametrize("answer", [Block("no"), Replace("x"), Drop(), {"msg": "x"}], ids=repr)
def test_what_an_observer_answers_never_acts_and_is_told_as_misuse(bus, agent, answer):
    told = []
    bus.events.connect(lambda bus, event: told.append(event))
    bus.signal("pre_reply").connect(lambda a: answer, role="observe")
    assert agent.reply("a") == "re: a"
    assert [event.action for event in told if isinstance(event, events.Failed)] == ["isolated"]


def test_a_failing_observer_leaves_its_siblings_alone(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a: 1 / 0, role="observe", name="first")
    bus.signal("pre_reply").connect(lambda a: ran.append("second"), role="observe", name="second")
    assert agent.reply("a") == "re: a" and ran == ["second", ("body", "a")]


@pytest.mark.parametrize("phase", ["pre", "post", "error", "finally"])
def test_an_interrupt_in_an_observer_goes_out_once_its_siblings_have_looked(bus, agent, ran, phase):
    def interrupts(a):
        raise KeyboardInterrupt

    signal = bus.signal(f"{phase}_reply")
    signal.connect(interrupts, role="observe")
    signal.connect(lambda a: ran.append("second"), role="observe")
    with pytest.raises(KeyboardInterrupt):
        agent.reply("raise" if phase == "error" else "a")
    assert ran[-1] == "second"


@pytest.mark.parametrize(
    ("on_error", "outcome"),
    [("isolate", "re: a"), ("block", HookBlocked), ("raise", ReceiverError)],
)
def test_a_failing_modifier_does_what_it_was_connected_to_do(bus, agent, ran, on_error, outcome):
    def redact(a):
        raise ValueError("broken")

    bus.signal("pre_reply").connect(redact, on_error=on_error)
    bus.signal("error_reply").connect(lambda a: Replace("rescued"))
    if isinstance(outcome, str):
        assert agent.reply("a") == outcome
    else:
        with pytest.raises(outcome) as error:
            agent.reply("a")
        assert ran == []
        assert on_error != "raise" or isinstance(error.value.__cause__, ValueError)


# -- arguments -------------------------------------------------------------------------------------


def test_arguments_with_awkward_names_are_served_and_pass_unharmed(bus, ran):
    class Agent:
        @hookable("odd", bus=bus)
        def odd(this, args, /, sender, *rest, ctx="c", result="r", **kwargs):
            return args, sender, rest, ctx, result, kwargs

    bus.signal("pre_odd").connect(
        lambda a, args, sender, rest, kwargs: ran.append((args, sender, rest, kwargs)),
        role="observe",
    )
    bus.signal("pre_odd").connect(
        lambda a, ctx: ran.append((ctx.kwargs["ctx"], ctx.kwargs["result"])), name="c",
        role="observe",
    )  # fmt: skip
    bus.signal("pre_odd").connect(
        lambda a, **kwargs: ran.append(sorted(kwargs)), name="plain", role="observe"
    )
    bus.signal("post_odd").connect(lambda a, result: ran.append(result), role="observe")
    expected = (1, 2, (3, 4), "c", "r", {"self": 5, "args": 6})
    assert Agent().odd(1, 2, 3, 4, self=5, args=6) == expected
    assert ran == [
        (1, 2, (3, 4), {"self": 5, "args": 6}), ("c", "r"),
        ["args", "kwargs", "rest", "result", "sender"],
        expected,
    ]  # fmt: skip


def test_values_are_never_copied_and_a_snapshot_copies_on_request(bus, ran):
    import threading

    class Agent:
        @hookable("hold", bus=bus)
        def hold(self, lock, payload):
            return lock, payload

    def modify(a, lock, payload, ctx):
        ran.append((lock, payload))
        with pytest.raises(TypeError, match="pickle"):
            ctx.snapshot()

    lock, payload = threading.Lock(), {"x": "y" * 1_000_000}
    bus.signal("pre_hold").connect(modify, on_error="raise")
    got = Agent().hold(lock, payload)
    assert got[0] is lock and got[1] is payload and ran[0][1] is payload
    bus.signal("pre_hold")._clear_state()
    bus.signal("pre_hold").connect(lambda a, ctx: ran.append(ctx.snapshot()), on_error="raise")
    Agent().hold("no lock", payload)
    assert ran[1].kwargs["payload"] == payload and ran[1].kwargs["payload"] is not payload


def test_a_context_is_not_a_tuple_and_a_copy_has_the_same_attributes(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a, ctx: ran.append(ctx), role="observe")
    agent.reply("a")
    [ctx] = [each for each in ran if isinstance(each, HookContext)]
    with pytest.raises(TypeError):
        len(ctx)
    copied = copy.copy(ctx)
    assert type(copied) is HookContext and repr(copied) == repr(ctx)
    for name in HookContext.__annotations__:
        assert getattr(copied, name) is getattr(ctx, name)
        with pytest.raises(AttributeError, match="read-only"):
            setattr(copied, name, None)


def test_a_context_is_one_calls_and_its_state_is_shared_by_its_receivers(bus, agent, ran):
    bus.signal("pre_reply").connect(lambda a, ctx: ctx.state.__setitem__("seen", ctx.kwargs["msg"]))

    def look(a, ctx):
        ran.append((ctx.hook, ctx.sender is a, ctx.state, ctx.result))

    bus.signal("post_reply").connect(look, role="observe")
    agent.reply("a"), agent.reply("b")
    assert [entry for entry in ran if len(entry) == 4] == [
        ("reply", True, {"seen": "a"}, "re: a"), ("reply", True, {"seen": "b"}, "re: b"),
    ]  # fmt: skip
