"""A hookspec is a named question: what can be one, who may answer it, and in what order they are
asked.
"""

import importlib
import inspect
import pickle
import subprocess
import sys

import pytest

from hookbus import (
    Block,
    Bus,
    HookBlocked,
    HookError,
    HookSignal,
    ReceiverError,
    explain,
    hookable,
    hookspec,
    modes,
    receives,
    report,
)
from hookbus.events import Finished, Started
from hookbus.testing import record


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def resolve(bus):
    @hookspec(modes.firstresult, bus=bus)
    def resolve(message, limit=10):
        """Which session does this message belong to?"""

    return resolve


@pytest.fixture
def collect(bus):
    @hookspec(modes.broadcast, bus=bus)
    def collect(x=0): ...

    return collect


@pytest.fixture
def gather(bus):
    @hookspec(modes.broadcast, bus=bus)
    async def gather(x=0): ...

    return gather


# -- what a question is ----------------------------------------------------------------------------


def test_what_is_declared_is_a_plain_function_that_looks_like_the_one_written(resolve, gather):
    assert inspect.isfunction(resolve)
    assert inspect.iscoroutinefunction(gather) and not inspect.iscoroutinefunction(resolve)
    assert str(inspect.signature(resolve)) == "(message, limit=10)"
    assert resolve.__doc__ == "Which session does this message belong to?"
    assert isinstance(resolve.signal, HookSignal)


def test_the_body_never_runs(bus):
    @hookspec(modes.firstresult, bus=bus)
    def resolve(message):
        raise NotImplementedError

    assert resolve("hi") is None
    resolve.connect(lambda message: message.upper(), name="shout")
    assert resolve("hi") == "HI"
    resolve.disconnect(next(iter(resolve.signal.receivers_for(None))))
    assert resolve("hi") is None


def test_arguments_come_by_position_or_name_with_the_defaults_of_the_question(resolve):
    resolve.connect(lambda limit, message: (message, limit))
    assert resolve("a") == ("a", 10)
    assert resolve("a", 3) == ("a", 3)
    assert resolve(limit=3, message="a") == ("a", 3)


def test_a_wrong_call_is_the_type_error_of_the_function_itself(resolve, gather):
    for wrong in (
        lambda: resolve(), lambda: resolve("a", mesage="b"), lambda: resolve.ask(),
        lambda: gather(1, 2),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()


def test_a_receiver_asks_only_for_what_it_needs(resolve):
    asked = []
    resolve.connect(lambda: asked.append("nothing"))
    resolve.connect(lambda **everything: asked.append(everything))
    resolve.connect(lambda message, /, *, limit: asked.append((message, limit)))
    resolve.connect(lambda ctx: asked.append((ctx.hook, dict(ctx.kwargs))))
    resolve("a")
    assert asked == [
        "nothing", {"message": "a", "limit": 10}, ("a", 10),
        ("resolve", {"message": "a", "limit": 10}),
    ]  # fmt: skip


def test_an_argument_that_is_called_ctx_is_that_argument(bus):
    @hookspec(modes.firstresult, bus=bus)
    def before_agent_run_(event, ctx): ...

    before_agent_run_.connect(lambda event, ctx: (event, ctx))
    assert before_agent_run_("e", "c") == ("e", "c")


@pytest.mark.parametrize(
    "name", ["pre_reply", "around_x", "item_y", "post_z", "error_a", "finally_b"]
)
def test_a_name_that_is_a_signal_of_a_hook_is_refused(bus, name):
    with pytest.raises(HookError, match="cannot be named"):
        hookspec(modes.void, bus=bus, name=name)(lambda: None)
    assert bus.signals() == [] and bus.hook_names() == []


def test_what_cannot_be_a_question_is_refused_with_what_to_write(bus):
    def stream():
        yield 1

    async def astream():
        yield 1

    def told(message): ...

    for wrong, says in (
        (stream, "is a generator"), (astream, "is a async generator"), (print, "put it on a def"),
        (3, "put it on a def"),
        (hookable("told", bus=bus)(told), "is already a hook"),
    ):  # fmt: skip
        with pytest.raises(HookError, match=says):
            hookspec(modes.void, bus=bus, name="question")(wrong)
    with pytest.raises(HookError, match="is not a mode"):
        hookspec("firstresult", bus=bus)
    assert bus.hook_names() == ["told"]


def test_forgetting_the_mode_is_said(bus):
    @hookspec
    def resolve(message): ...

    with pytest.raises(HookError, match=r"with a mode: @hookspec\(modes.firstresult\)"):
        resolve("hi")


def test_a_name_belongs_to_one_question(bus, resolve):
    with pytest.raises(HookError, match="already used on this bus by <hook 'resolve': .*hookspec"):
        hookspec(modes.broadcast, bus=bus, name="resolve")(lambda message: None)
    with pytest.raises(HookError, match="is already used"):
        hookable("resolve", bus=bus)(lambda: None)
    resolve.connect(lambda message: 1)
    assert resolve("a") == 1


def test_a_hookable_keeps_its_name_from_a_question(bus):
    agent = hookable("reply", bus=bus)(lambda: "body")
    with pytest.raises(HookError, match="is already used"):
        hookspec(modes.void, bus=bus, name="reply")(lambda: None)
    assert agent() == "body"


def test_a_reloaded_module_asks_the_same_receivers_once_and_so_does_who_holds_the_old_question(
    tmp_path, monkeypatch
):
    (tmp_path / "a_host_that_is_reloaded.py").write_text(
        "from hookbus import Bus, hookspec, modes\n"
        "try:\n    bus\nexcept NameError:\n    bus = Bus()\n"
        "@hookspec(modes.broadcast, bus=bus)\ndef question(x): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    host = importlib.import_module("a_host_that_is_reloaded")
    before = host.question
    before.connect(lambda x: x, name="first")
    importlib.reload(host)
    assert host.question is not before
    host.question.connect(lambda x: x + 1, name="second")
    assert host.question(1) == before(1) == [1, 2]


def test_a_question_pickles_by_its_name():
    program = (
        "import pickle, sys\n"
        "import hookbus\n"
        "@hookbus.hookspec(hookbus.modes.firstresult)\n"
        "def question(x): ...\n"
        "question.connect(lambda x: x * 2)\n"
        "assert pickle.loads(pickle.dumps(question)) is question\n"
        "import cloudpickle\n"
        "sys.stdout.buffer.write(cloudpickle.dumps(question))\n"
    )
    shipped = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True
    ).stdout
    question = pickle.loads(shipped)
    assert question(2) is None, "its receivers stay where they are connected"
    with question.connected_to(lambda x: x * 3):
        assert question(2) == 6


# -- who answers -----------------------------------------------------------------------------------


def test_functions_answer_by_connect_by_decorator_and_for_a_block_of_code(collect):
    @collect.connect_via(priority=1)
    def first(x):
        return "first"

    @collect.connect
    def second(x):
        return "second"

    assert first(0) == "first" and second(0) == "second", "the decorators give back what they got"
    with collect.connected_to(lambda x: "third") as connection:
        assert collect() == ["first", "second", "third"]
        connection.disable()
        assert collect() == ["first", "second"]
    assert collect() == ["first", "second"]
    collect.disconnect(first)
    assert collect() == ["second"]


def test_marked_methods_of_a_plugin_answer_questions_and_hear_signals(bus, resolve):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    class ChatPlugin:
        @receives("resolve", priority=5)
        def session(self, message):
            return f"chat:{message}"

        @receives("pre_reply", role="guard")
        def check(self, agent, msg):
            return Block("no") if msg == "bad" else None

    unregister = bus.register(ChatPlugin())
    assert resolve("a") == "chat:a"
    with pytest.raises(HookBlocked):
        Agent().reply("bad")
    unregister()
    assert resolve("a") is None and Agent().reply("bad") == "bad"


def test_a_mark_may_stand_above_or_below_what_makes_a_method_a_classmethod_or_static(bus, collect):
    class Plugin:
        @receives("collect")
        @classmethod
        def above(cls):
            return "above"

        @classmethod
        @receives("collect")
        def below(cls):
            return "below"

        @receives("collect")
        @staticmethod
        def static():
            return "static"

    unregister = bus.register(Plugin())
    assert collect() == ["above", "below", "static"]
    unregister()
    assert collect() == []


def test_an_override_of_a_marked_method_is_marked_too_so_that_no_guard_is_lost(bus):
    @hookable("reply", bus=bus)
    def reply(msg):
        return msg

    class Plugin:
        @receives("pre_reply", role="guard")
        def check(self, sender):
            return None

    class Stricter(Plugin):
        def check(self, sender, msg):
            return Block("no") if msg == "bad" else None

    class Renamed(Plugin):
        @receives("post_reply")
        def check(self, sender):
            return "marked anew"

    unregister = bus.register(Stricter())
    with pytest.raises(HookBlocked):
        reply("bad")
    unregister()
    bus.register(Renamed())
    assert reply("bad") == "marked anew"


def test_a_function_that_two_attributes_refer_to_is_connected_once(bus, collect):
    class Plugin:
        def __init__(self):
            self.own = self.another = receives("collect")(lambda: "own")

        @receives("collect")
        def method(self):
            return "method"

        alias = method

    bus.register(Plugin())
    assert len(bus.signal("collect").connections()) == 2
    assert collect() == ["method", "own"]


def test_one_override_of_two_marked_methods_has_the_marks_of_both(bus, collect):
    @hookable("reply", bus=bus)
    def reply(msg):
        return msg

    class Plugin:
        @receives("pre_reply", role="guard")
        def check(self, sender):
            return None

        @receives("collect")
        def note(self):
            return "note"

    class Both(Plugin):
        def check(self, sender=None):
            return Block("no")

        note = check

    bus.register(Both())
    for call in (lambda: reply("hi"), collect):
        with pytest.raises(HookBlocked):
            call()


def test_a_mark_may_give_its_receiver_a_name(bus):
    @hookable("reply", bus=bus)
    def reply(msg):
        return msg

    class Plugin:
        @receives("pre_reply", role="guard", name="no-secrets")
        def check(self, sender, msg):
            return Block("no")

    bus.register(Plugin())
    with pytest.raises(HookBlocked, match="blocked by no-secrets"):
        reply("bad")


def test_a_function_that_a_plugin_holds_is_connected_as_its_methods_are(bus):
    class Plugin:
        def __init__(self, answer):
            @receives("pre_reply")
            def look(sender):
                return answer

            self.look = look

    @hookable("reply", bus=bus)
    def reply(msg):
        return msg

    unregister = bus.register(Plugin({"msg": "b"}))
    assert reply("a") == "b"
    unregister()
    assert reply("a") == "a"


def test_who_plugs_a_class_is_told_to_plug_an_object(bus):
    class Plugin:
        @receives("pre_reply")
        def look(self, sender): ...

    with pytest.raises(HookError, match="class .*Plugin is a class: pass an instance of it"):
        bus.register(Plugin)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"role": "gaurd"}, "did you mean 'guard'"),
        ({"timeout": 0}, "timeout=0"),
        ({"priorty": 1}, "'priorty'"),
    ],
)
def test_an_option_of_a_mark_that_makes_no_sense_is_refused_where_it_is_written(options, says):
    with pytest.raises((HookError, TypeError), match=says):
        receives("pre_reply", **options)


def test_who_forgets_that_connect_via_is_called_first_is_told(collect):
    with pytest.raises(
        HookError, match="write @collect.connect or @collect.connect_via\\(priority=1\\)"
    ):

        @collect.connect_via
        def answer(x): ...


def test_a_receiver_whose_signature_cannot_be_read_is_refused_with_what_to_write(collect):
    with pytest.raises(HookError, match="no readable signature; wrap it as `lambda argument"):
        collect.connect(dict)


def test_a_plugin_with_one_method_that_does_not_fit_is_not_plugged_at_all(bus, resolve, collect):
    class Plugin:
        @receives("collect")
        def fits(self, x):
            return 1

        @receives("resolve")
        def does_not(self, mesage):
            return 2

    with pytest.raises(
        HookError,
        match="does_not .* parameter 'mesage', which resolve does not have; did you mean 'message'",
    ):
        bus.register(Plugin())
    assert collect() == [] and resolve("a") is None


def test_a_receiver_that_asks_for_what_the_question_lacks_is_refused_and_nothing_is_connected(
    resolve,
):
    def by_chat(mesage):
        return 1

    with pytest.raises(
        HookError,
        match=rf"by_chat \({__file__}:\d+\) on resolve .* 'mesage'.*did you mean 'message'",
    ):
        resolve.connect(by_chat)
    with pytest.raises(HookError, match="has a when= that needs 'limits'.*did you mean 'limit'"):
        resolve.connect(lambda message: 1, when={"limits": "*"})
    assert list(resolve.signal.receivers_for(None)) == []


def test_a_parameter_of_the_receivers_own_keeps_its_default_others_have_the_questions(
    resolve,
):
    resolve.connect(lambda message, limit=99, retries=3: (limit, retries))
    assert resolve("a") == (10, 3)


def test_a_default_that_the_questions_own_always_stands_in_front_of_is_reported(bus, resolve):
    def by_chat(message, limit=99): ...

    resolve.connect(by_chat)
    assert any(
        "by_chat" in f and "never gets its default for 'limit'" in f for f in report(bus).findings
    )


@pytest.mark.parametrize("role", ["guard", "modify", "observe"])
def test_a_question_has_no_roles_and_no_senders(bus, resolve, role):
    with pytest.raises(HookError, match="has no roles"):
        resolve.signal.connect(lambda message: 1, role=role)
    with pytest.raises(HookError, match="is a hookspec and takes no sender"):
        resolve.signal.connect(lambda message: 1, sender=bus)
    with pytest.raises(HookError, match="is a hookspec and takes no sender"):
        resolve.connect(lambda message: 1, sender=bus)


def test_its_signal_is_asked_and_not_sent(resolve):
    with pytest.raises(HookError, match="is a hookspec and takes no sender"):
        resolve.signal.send("x", message=1)


def test_who_was_connected_to_the_name_before_the_question_was_declared_answers_too(bus):
    bus.signal("later").connect(lambda message: f"early {message}", name="early")

    @hookspec(modes.broadcast, bus=bus)
    def later(message): ...

    later.connect(lambda message: f"late {message}")
    assert later("a") == ["early a", "late a"]


def test_who_was_connected_before_and_does_not_fit_fails_when_asked_and_is_reported(bus):
    bus.signal("later").connect(lambda mesage: 1, name="typo")
    bus.signal("later").connect(lambda message: Block("no"), role="guard", name="gate")

    @hookspec(modes.broadcast, bus=bus)
    def later(message): ...

    assert [row.problem is not None for row in explain(later)] == [True, True]
    with pytest.raises(HookBlocked) as blocked:
        later("a")
    assert blocked.value.receiver == "gate", "a guard that cannot be asked has not said yes"
    assert any(
        "typo" in finding and "did you mean 'message'" in finding
        for finding in report(bus).findings
    )


def test_who_was_connected_to_a_sender_before_is_reported_as_never_asked(bus):
    bus.signal("later").connect(lambda message: 1, sender=HookError, name="scoped")

    @hookspec(modes.broadcast, bus=bus)
    def later(message): ...

    assert later("a") == []
    assert any(
        "scoped" in finding and "is never called: it has a sender" in finding
        for finding in report(bus).findings
    )


# -- colours ---------------------------------------------------------------------------------------


def test_an_async_receiver_of_a_plain_question_is_refused(collect):
    async def later(x): ...

    class Later:
        async def __call__(self, x): ...

    for receiver in (later, Later()):
        with pytest.raises(HookError, match="is async, but collect is a plain def"):
            collect.connect(receiver)


def test_an_async_answer_nobody_could_foresee_is_a_failure_and_its_coroutine_is_closed(
    bus, collect
):
    made = []

    async def answer(x):
        return x

    def hidden(x):
        made.append(answer(x))
        return made[-1]

    collect.connect(hidden)
    collect.connect(lambda x: "plain")
    with record(bus) as fired:
        assert collect() == ["plain"]
    assert inspect.getcoroutinestate(made[0]) == inspect.CORO_CLOSED
    with pytest.raises(AssertionError, match="hidden in answer_collect.*awaitable"):
        fired.no_failures()


async def test_an_async_question_is_answered_by_both_colours_in_order(gather):
    @gather.connect_via(priority=1)
    async def first(x):
        return ("async", x)

    gather.connect(lambda x: ("plain", x))
    assert await gather(5) == [("async", 5), ("plain", 5)]


async def test_an_async_none_is_no_answer(bus):
    @hookspec(modes.firstresult, bus=bus)
    async def resolve(x): ...

    @resolve.connect
    async def declines(x):
        return None

    resolve.connect(lambda x: "next")
    assert await resolve(1) == "next"


# -- order -----------------------------------------------------------------------------------------


def test_receivers_are_asked_by_priority_then_by_connection_and_before_and_after_refine_that(
    bus, collect
):
    for name, options in (
        ("d", {}), ("e", {}), ("b", {"priority": 5}), ("f", {"priority": -1}),
        ("c", {"priority": 5}),
        ("a", {"before": "b"}), ("g", {"priority": 9, "after": "f"}),
    ):  # fmt: skip
        collect.connect(lambda x, name=name: name, name=name, **options)
    ran = collect()
    assert ran == ["c", "d", "e", "a", "b", "f", "g"]
    assert [row.receiver for row in explain(collect)] == ran
    assert [row["receiver"] for row in report(bus).receivers] == ran


def test_an_order_that_cannot_be_is_refused(collect):
    collect.connect(lambda x: 1, name="a", before="b")
    with pytest.raises(HookError, match="form a cycle"):
        collect.connect(lambda x: 2, name="b", before="a")
    assert collect() == [1]


def test_explain_says_mode_colour_order_policy_and_place(bus, gather):
    def one(x): ...

    gather.connect(one, on_error="raise", timeout=2.0)
    bus.signal("around_gather").connect(lambda spec, call_next: call_next(), name="outer")
    said = explain(gather)
    assert said.title == "gather, a question (async, broadcast)"
    outer, answer = said
    assert (outer.phase, outer.receiver, outer.role) == ("around", "outer", "around")
    assert (outer.on_error, outer.timeout) == ("raise", None)
    assert (answer.phase, answer.receiver.rpartition(".")[2]) == ("answer", "one")
    assert (answer.role, answer.on_error, answer.timeout) == ("answer", "raise", 2.0)
    assert said[1].where == f"{__file__}:{one.__code__.co_firstlineno}"


def test_explain_of_a_question_nobody_answers_says_so(collect):
    assert (
        "no receivers are connected" in str(explain(collect))
        and "no receivers are connected" in explain(collect)._repr_html_()
    )


def test_report_shows_questions_with_mode_and_receivers_and_suggests_a_name_for_a_typo(
    bus, resolve
):
    bus.signal("resolv").connect(lambda message: 1)
    resolve.connect(lambda message: 1)
    [row] = report(bus).hooks
    assert (row["hook"], row["kind"], row["mode"], row["receivers"]) == (
        "resolve", "sync", "firstresult", 1,
    )  # fmt: skip
    assert any(
        "nothing emits resolv" in f and "did you mean 'resolve'" in f for f in report(bus).findings
    )


# -- options ---------------------------------------------------------------------------------------


def test_when_decides_on_the_arguments_whether_a_receiver_is_asked(resolve):
    resolve.connect(lambda message: "slack", when={"message": "slack:*"})
    resolve.connect(lambda message: "long", when=lambda message: len(message) > 20)
    assert resolve("slack:hi") == "slack" and resolve("x" * 30) == "long" and resolve("hi") is None


def test_once_answers_one_time(collect):
    collect.connect(lambda x: "once", once=True)
    assert collect() == ["once"] and collect() == []


def test_muted_asks_nobody_inside_its_block(collect):
    collect.connect(lambda x: 1)
    with collect.muted():
        assert collect() == []
        assert collect.ask().answers == ()
    assert collect() == [1]


def test_the_receivers_are_settled_when_the_question_is_asked(collect):
    def leaves(x):
        collect.disconnect(leaves)
        collect.disconnect(next_one)
        collect.connect(lambda x: "new", name="new")
        return "leaves"

    def next_one(x):
        return "next"

    collect.connect(leaves)
    collect.connect(next_one)
    assert collect() == ["leaves", "next"]
    assert collect() == ["new"]


async def test_the_receivers_of_an_async_question_are_settled_when_it_is_called_not_when_awaited(
    gather,
):
    gather.connect(lambda x: "before")
    asked = gather()
    gather.connect(lambda x: "after", name="after")
    assert await asked == ["before"]


def test_a_weakly_held_receiver_that_died_is_not_asked(collect):
    class Owner:
        def answer(self, x):
            return 1

    owner = Owner()
    collect.connect(owner.answer, weak=True)
    assert collect() == [1]
    del owner
    assert collect() == []
    with pytest.raises(HookError, match="fails closed, so weak=True is not allowed"):
        collect.connect(Owner().answer, weak=True, on_error="block")


def test_two_equal_or_unhashable_plugins_both_answer(bus, collect):
    class Plugin(list):
        @receives("collect")
        def answer(self, x):
            return "here"

    bus.register(Plugin())
    bus.register(Plugin())
    assert collect() == ["here", "here"]


# -- the other phases of a question ----------------------------------------------------------------


def test_a_question_is_a_hook_so_it_can_be_guarded_and_its_arguments_and_result_changed(
    bus, resolve
):
    resolve.connect(lambda message: f"session of {message}")
    bus.signal("pre_resolve").connect(
        lambda spec, message: {"message": message.strip()}, name="strip"
    )
    bus.signal("pre_resolve").connect(
        lambda spec, message: Block("empty") if not message else None, role="guard", name="g"
    )
    bus.signal("post_resolve").connect(lambda spec, result: result.upper(), name="shout")
    assert resolve("  a ") == "SESSION OF A"
    with pytest.raises(HookBlocked, match="resolve was blocked by g: empty"):
        resolve("  ")


def test_an_around_may_change_the_arguments_answer_itself_or_ask_twice(bus, collect):
    collect.connect(lambda x: x)

    def around(spec, call_next, x):
        assert spec is collect
        return ["mine"] if x == 0 else call_next() + call_next(x=x + 1)

    bus.signal("around_collect").connect(around)
    assert collect(0) == ["mine"] and collect(1) == [1, 2]


@pytest.mark.parametrize("raises", [False, True])
def test_no_around_keeps_an_answerer_from_raising(bus, collect, raises):
    @collect.connect_via(on_error="raise")
    def fails(x):
        raise ValueError

    @bus.signal("around_collect").connect
    def around(spec, call_next):
        with pytest.raises(ReceiverError):
            call_next()
        if raises:
            raise LookupError
        return ["all is well"]

    with pytest.raises(ReceiverError, match="fails"):
        collect()


async def test_an_around_of_an_async_question_covers_the_time_it_waits(bus, gather):
    import asyncio

    order = []

    @gather.connect
    async def slow(x):
        await asyncio.sleep(0)
        order.append("answered")

    async def around(spec, call_next):
        order.append("in")
        try:
            return await call_next()
        finally:
            order.append("out")

    bus.signal("around_gather").connect(around)
    await gather()
    assert order == ["in", "answered", "out"]


def test_every_question_is_one_started_and_one_finished(bus, resolve):
    resolve.connect(lambda message: 1)
    with record(bus) as fired:
        resolve("a")
        resolve.ask("a")
    fired.exactly(resolve=2)
    assert fired.outcomes == [("resolve", "returned")] * 2
    assert [type(event) for event in fired.events] == [Started, Finished] * 2


# -- taking a question back ------------------------------------------------------------------------


def test_a_question_that_is_taken_back_asks_nobody_and_leaves_its_name_and_receivers_to_the_next():
    bus = Bus()
    first = hookspec(modes.broadcast, bus=bus, name="question")(lambda x: None)
    first.connect(lambda x: x, name="same")
    assert first(1) == [1]
    first.retire()
    assert first(1) == [] and first.ask(1).answers == () and bus.hook_names() == []
    second = hookspec(modes.firstresult, bus=bus, name="question")(lambda x: None)
    assert second(2) == 2 and first(2) == []


def test_ask_is_called_as_the_question_is():
    def question(x=1, /, *rest, y=2, **more): ...

    spec = hookspec(modes.broadcast, bus=Bus(), name="question")(question)
    spec.connect(lambda x, rest, y, more: (x, rest, y, more))
    assert spec.ask(x=7).result == spec(x=7) == [(1, (), 2, {"x": 7})]
    assert spec.ask(3, 4, y=5).result == spec(3, 4, y=5) == [(3, (4,), 5, {})]


def test_ask_says_what_does_not_fit_in_pythons_words():
    spec = hookspec(modes.broadcast, bus=Bus(), name="question")(lambda x, round: None)
    spec.connect(lambda x, round: x + round)
    assert spec.ask(1, round=2).result == [3]
    with pytest.raises(TypeError, match="question.ask.. missing 1 required .* 'round'"):
        spec.ask(1)
