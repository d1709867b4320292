"""Siblings of the mistakes in `tests/mistakes`: what is reported of each, and what is meant so and
is not.
"""

import asyncio
import contextvars
import inspect
import re
import threading
import warnings
from functools import partial

import pytest

import hookbus
from hookbus import (
    Ask,
    Block,
    Bus,
    HookBlocked,
    HookError,
    Replace,
    adapters,
    baggage,
    explain,
    guards,
    hookable,
    hookspec,
    modes,
    receives,
    report,
)
from hookbus.approvals import Approved, Denied, Inbox, Parked, Store, notify
from hookbus.exceptions import HookWarning
from hookbus.exporters import chrome, jsonl, log, otel
from hookbus.journal import Journal, replay


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def Agent(bus):
    class Agent:
        @hookable(bus=bus)
        def reply(self, msg, options=None):
            return msg

        @hookable(bus=bus)
        async def fetch(self, msg):
            return msg

        @hookable(bus=bus)
        def tokens(self, n):
            yield from map(str, range(n))

    return Agent


def ok(agent): ...


def found(bus):
    return "\n".join(each for each in report(bus).findings if "never fired" not in each)


# -- connecting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weak, meant", [
    ("guard", "did you mean role='guard'"), ("gaurd", "did you mean role='guard'"),
    ("observe", "did you mean role='observe'"), (10, "did you mean priority=10"),
    (0, "did you mean priority=0"), ("high", "True, False or None"), ((), "True, False or None"),
])  # fmt: skip
def test_weak_is_a_bool_or_none_however_it_is_connected(bus, Agent, weak, meant):
    signal = bus.signal("pre_reply")

    class Plugin:
        @receives("pre_reply", weak=weak)
        def check(self, agent): ...

    for connect in (
        lambda: signal.connect(ok, Agent, weak), lambda: signal.connected_to(ok, Agent, weak),
        lambda: signal.connect_via(Agent, weak), lambda: bus.register(Plugin()),
    ):  # fmt: skip
        with pytest.raises(HookError, match=meant):
            connect()
    assert not signal.connections()


@pytest.mark.parametrize("glob, condition", [
    (">100", "msg > 100"), ("> 100", "msg > 100"), (">=1.5", "msg >= 1.5"), ("<-5", "msg < -5"),
    ("=5", "msg == 5"), ("==5", "msg == 5"), ("!= eve", "msg != 'eve'"), ("≥ 3", "msg >= 3"),
    (" <= 2026-01-01 ", "msg <= '2026-01-01'"), ("msg >1e5", "msg > 1e5"), ("=> 3", "msg >= 3"),
    ("> 1 and <= 5", "msg > 1 and msg <= 5"), ("<1 || >5", "msg < 1 or msg > 5"),
    (">$100", r"msg > '\$100'"), ("== x", "msg == 'x'"),
])  # fmt: skip
def test_a_comparison_is_no_glob(bus, Agent, glob, condition):
    with pytest.raises(HookError, match=f"write when=lambda msg: {condition}"):
        bus.signal("pre_reply").connect(ok, Agent, when={"msg": glob})


@pytest.mark.parametrize(
    "glob", ["bash*", ">*", "<script*", "*>100*", "100", "a=b", "!roll", "a and b"]
)
def test_a_glob_that_compares_nothing_is_taken(bus, Agent, glob):
    bus.signal("pre_reply").connect(ok, Agent, when={"msg": glob})


@pytest.mark.parametrize("timeout", [100, 250, 500, 1500.0, 5000, 30_000])
def test_a_deadline_in_milliseconds_is_warned_of(bus, Agent, timeout):
    with pytest.warns(HookWarning, match=f"timeout={timeout / 1000:g} if milliseconds"):
        bus.signal("pre_reply").connect(ok, Agent, timeout=timeout)
    assert "is in seconds" in found(bus)
    with pytest.warns(HookWarning, match="if milliseconds") as warned:
        slow = Bus(timeout=timeout)
    assert warned[0].filename == __file__ and "Bus(timeout=" in found(slow)
    for made in (partial(notify, "https://host/"), guards.redact, guards.quarantine):
        with pytest.warns(HookWarning, match="if milliseconds"):
            made(timeout=timeout)


@pytest.mark.parametrize("timeout", [0.5, 2, 60, 99.5, 120, 300, 600.0])
def test_a_deadline_of_seconds_or_whole_minutes_is_taken(bus, Agent, timeout):
    bus.signal("pre_reply").connect(ok, Agent, timeout=timeout)
    Bus(timeout=timeout)
    assert "is in seconds" not in found(bus)


@pytest.mark.parametrize("name, meant", [
    ("reply_pre", "pre_reply"), ("reply_post", "post_reply"), ("reply_before", "pre_reply"),
    ("reply_after", "post_reply"), ("reply_error", "error_reply"), ("POST_reply", "post_reply"),
    ("preReply", "pre_reply"), ("PRE_REPLY", "pre_reply"), ("replyPost", "post_reply"),
    ("reply_finaly", "finally_reply"), ("on_reply", "pre_reply"), ("Pre_reply", "pre_reply"),
])  # fmt: skip
def test_a_phase_in_the_wrong_place_or_other_words_is_known(bus, Agent, name, meant):
    bus.signal(name).connect(ok, role="observe")
    assert f"did you mean {meant!r}?" in found(bus)


@pytest.mark.parametrize("names, first", [
    (("agent",), "sender, agent"), (("agent", "sender"), "owner, agent"),
    (("agent", "sender", "owner"), "the_sender, agent"),
])  # fmt: skip
def test_the_advice_for_a_receiver_is_one_that_can_be_connected(bus, names, first):
    made = {}
    exec(f"def tool_call({', '.join(names)}): ...\ndef check({first}): ...", made)
    hooked = hookable("tool_call", bus=bus)(made["tool_call"])
    signal = bus.signal("pre_tool_call")
    with pytest.raises(HookError, match=rf"write \({first}\)"):
        signal.connect(lambda agent: None)
    signal.connect(made["check"])
    assert len(explain(hooked)) == 1


def a_generator(agent):
    yield Block("no")


async def an_async_generator(agent):
    yield Block("no")


class Yielding:
    def __call__(self, agent):
        yield Block("no")


@pytest.mark.parametrize("name", ["pre_reply", "pre_fetch", "item_tokens", "finally_reply"])
@pytest.mark.parametrize(
    "receiver", [a_generator, an_async_generator, Yielding(), partial(a_generator)]
)
def test_a_receiver_that_yields_is_refused_where_it_answers(bus, Agent, receiver, name):
    with pytest.raises(HookError, match="contains a yield, so none of its code .*: use return"):
        bus.signal(name).connect(receiver, Agent)


# -- guards of objects that are gone ---------------------------------------------------------------


def test_what_closes_on_a_temporary_object_is_reported_once_in_the_log(bus, Agent, caplog):
    signal = bus.signal("pre_reply")
    for _ in range(3):
        signal.connect(ok, Agent(), role="guard")
        signal.connect(lambda agent: None, Agent(), on_error="block", name="redact")
        signal.connect(lambda agent: None, Agent(), role="guard", when={"msg": "a*"}, name="part")
    for name in ("ok", "redact", "part"):
        assert sum(line.startswith(f"{name} (") for line in caplog.messages) == 1
        assert f"{name} (" in found(bus)
    assert found(bus).count("was freed before any call") == 3 and ", 3 times" in found(bus)


def test_an_object_that_was_called_may_go_with_its_guards(bus, Agent, caplog):
    agent = Agent()
    bus.signal("pre_reply").connect(ok, agent, role="guard", when={"msg": "never"})
    agent.reply("hi")
    del agent
    bus.signal("pre_reply").connect(ok, Agent(), role="observe")
    assert not caplog.messages and "freed before" not in found(bus)


# -- answers ---------------------------------------------------------------------------------------


def call(agent, hook):
    if hook == "tokens":
        return list(agent.tokens(2))
    return asyncio.run(agent.fetch("hi")) if hook == "fetch" else agent.reply("hi")


@pytest.mark.parametrize("on_error", ["isolate", "block", "raise"])
@pytest.mark.parametrize("phase", ["pre", "post", "item"])
@pytest.mark.parametrize("hook", ["reply", "fetch", "tokens"])
def test_an_ask_of_a_modifier_blocks_whatever_its_failure_does(bus, Agent, hook, phase, on_error):
    if (phase == "item") != (hook == "tokens") and phase != "pre":
        pytest.skip("no such phase, or nothing to hold back")
    bus.approver(lambda request: Approved("ada"))
    signal = bus.signal(f"{phase}_{hook}")
    signal.connect(lambda agent: Ask("may I?"), Agent, on_error=on_error)
    with pytest.raises(HookBlocked, match=f"guard of pre_{hook} may return Ask.*role='guard'"):
        call(Agent(), hook)


@pytest.mark.parametrize("hook", ["reply", "fetch"])
def test_an_ask_of_an_around_blocks(bus, Agent, hook):
    bus.signal(f"around_{hook}").connect(lambda agent, call_next: Ask("may I?"), Agent)
    with pytest.raises(HookBlocked, match="connect it there with role='guard'"):
        call(Agent(), hook)


@pytest.mark.parametrize("phase", ["pre", "post", "finally"])
def test_an_ask_of_an_observer_affects_nothing_and_is_reported(bus, Agent, phase):
    bus.signal(f"{phase}_reply").connect(lambda agent: Ask("?"), Agent, role="observe", name="see")
    assert Agent().reply("hi") == "hi"
    assert "connect it there with role='guard'" in found(bus)


def test_an_ask_as_an_answer_blocks_the_question(bus):
    @hookspec(modes.firstresult, bus=bus)
    def resolve(message): ...

    resolve.connect(lambda message: Ask("may I?"))
    with pytest.raises(HookBlocked, match="returned an Ask"):
        resolve("hi")


class Denial(PermissionError):
    pass


class Refused(HookBlocked):
    pass


@pytest.mark.parametrize("error", [HookBlocked, Refused, PermissionError, Denial])
def test_a_refusal_that_is_raised_is_told_what_to_return_and_its_text_stays_in(
    bus, Agent, error, caplog
):
    def no_keys(agent):
        raise error("SECRET")

    bus.signal("pre_reply").connect(no_keys, Agent, role="guard")
    with pytest.raises(HookBlocked) as caught:
        Agent().reply("hi")
    said = f"guard failed: {error.__name__} was raised; to block the call, write return Block"
    assert caught.value.reason.startswith(said)
    assert "SECRET" not in f"{caught.value}{caplog.messages}{found(bus)}"


@pytest.mark.parametrize("kind", ["raise", "assert"])
def test_any_exception_of_its_own_has_a_guard_told_what_to_return(bus, Agent, kind, caplog):
    def no_keys(agent):
        if kind == "raise":
            raise ValueError("SECRET")
        assert agent is None, "SECRET"

    bus.signal("pre_reply").connect(no_keys, Agent, role="guard")
    with pytest.raises(HookBlocked, match=r"guard failed: (Value|Assertion)Error$"):
        Agent().reply("hi")
    for said in (found(bus), *caplog.messages):
        assert "if it was meant to block the call, write return Block(reason)" in said


def test_an_exception_of_a_library_and_a_block_of_another_call_are_told_nothing(bus, Agent):
    @hookable("lookup", bus=bus)
    def lookup(): ...

    bus.signal("pre_lookup").connect(lambda sender: Block("no"), role="guard")
    bus.signal("pre_reply").connect(lambda agent: lookup(), Agent, role="guard", name="one")
    bus.signal("pre_fetch").connect(lambda agent: open("/"), Agent, role="guard", name="two")
    for hook, kind in (("reply", "HookBlocked"), ("fetch", "IsADirectoryError")):
        with pytest.raises(HookBlocked, match=f"guard failed: {kind}$"):
            call(Agent(), hook)
    assert "return Block" not in found(bus)


def test_a_bool_for_another_type_is_a_finding_unless_it_is_meant(bus, Agent):
    @hookable("is_fine", bus=bus)
    def is_fine():
        return True

    bus.signal("post_is_fine").connect(lambda sender, result: not result)
    post = bus.signal("post_reply")
    for name, options, answer in (
        ("one", {"role": "modify"}, True), ("two", {}, Replace(True)),
        ("three", {"role": "observe"}, True),
    ):  # fmt: skip
        with post.connected_to(lambda agent, each=answer: each, Agent, name=name, **options):
            Agent().reply("hi")
            assert "by a bool" not in found(bus)
    assert is_fine() is False and "by a bool" not in found(bus)
    bus.signal("item_tokens").connect(lambda agent, item: "1" in item, Agent, name="each")
    assert list(Agent().tokens(2)) == [False, True]
    assert "each (" in found(bus) and "replaced a str by a bool" in found(bus)
    assert "(2 times)" in found(bus)


LOSING = {
    "a patch": ("pre", lambda agent: {"options": {"to": "ada"}}),
    "a patch of nothing": ("pre", lambda agent: {"options": {}}),
    "a draft": ("pre", lambda agent, ctx: ctx.kwargs.update(options={"to": "ada"})),
    "an around": ("around", lambda agent, call_next: call_next(options={"to": "ada"})),
}
KEEPING = {
    "a merge": ("pre", lambda agent, options: {"options": {**options, "to": "ada"}}),
    "more": ("pre", lambda agent, options: {"options": {**options, "cc": "bob"}}),
    "another argument": ("pre", lambda agent: {"msg": "hi"}),
    "another type": ("pre", lambda agent: {"options": None}),
}


@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize("way", LOSING)
def test_keys_that_a_patch_loses_are_reported(bus, Agent, caplog, way, is_told):
    phase, receiver = LOSING[way]
    bus.signal(f"{phase}_reply").connect(receiver, Agent, name="address")
    if is_told:
        bus.events.connect(lambda bus, event: None)
    for _ in range(3):
        Agent().reply("hi", {"to": "eve", "amount": 5, "4111 1111": 0})
    assert "dropped 'amount', " in found(bus) and "a key from 'options'" in found(bus)
    assert "(3 times)" in found(bus)
    assert "4111" not in found(bus) and len(caplog.messages) == 1


def test_keys_that_a_dict_inside_loses_are_reported_with_their_place(bus, Agent):
    bus.signal("pre_reply").connect(
        lambda agent, options: {"options": {**options, "bill": {"to": "ada"}, "id": 1}}, Agent
    )
    Agent().reply("hi", {"bill": {"to": "eve", "amount": 5}})
    said = found(bus)
    assert "dropped 'amount' from options['bill']" in said
    assert "to keep it, write {**options['bill'], ...}" in said


@pytest.mark.parametrize("way", KEEPING)
def test_a_patch_that_keeps_the_keys_is_not_reported(bus, Agent, way):
    phase, receiver = KEEPING[way]
    bus.signal(f"{phase}_reply").connect(receiver, Agent, name="address")
    Agent().reply("hi", {"to": "eve", "amount": 5})
    assert "out of 'options'" not in found(bus)


def test_a_key_that_is_taken_out_of_the_others_is_a_finding_and_no_warning(bus, Agent, caplog):
    def without(agent, options):
        return {"options": {key: value for key, value in options.items() if key != "debug"}}

    bus.signal("pre_reply").connect(without, Agent)
    Agent().reply("hi", {"to": "eve", "debug": True})
    assert "dropped 'debug' from" in found(bus) and not caplog.messages


# -- what blocks, and what has no session ----------------------------------------------------------


@pytest.mark.seconds
def test_only_what_blocks_the_event_loop_is_a_finding(bus, Agent, monkeypatch):
    seconds = iter(range(1000))  # each look at the clock is a second later than the one before
    monkeypatch.setattr("hookbus._advice.blocking.time.perf_counter", lambda: next(seconds))

    async def waits(agent): ...

    for name, receiver, options in (
        ("plain", ok, {"role": "guard"}), ("redact", lambda agent: None, {}),
        ("waits", waits, {"role": "guard"}),
        ("timed", lambda agent: None, {"role": "guard", "timeout": 5}),
    ):  # fmt: skip
        bus.signal("pre_fetch").connect(receiver, Agent, name=name, **options)
    bus.signal("pre_reply").connect(ok, Agent, role="guard", name="no loop")
    for _ in range(20):
        asyncio.run(Agent().fetch("hi"))
    Agent().reply("hi")
    blocking = [each for each in report(bus).findings if "blocked the event loop" in each]
    assert [each.partition(" ")[0] for each in blocking] == ["plain", "redact"]
    assert all(", 8 times, for 1 s" in each for each in blocking), "then it is timed no more"


def test_a_thread_that_is_given_the_context_has_its_session(bus):
    @hookable("tool_call", bus=bus)
    def tool_call(name):
        return name

    bus.register(guards.rate_limit(1, per="user"))
    for user in ("ada", "bob"):
        with baggage(user=user):
            run = contextvars.copy_context().run
            thread = threading.Thread(target=run, args=(tool_call, "send"))
            thread.start()
            thread.join()
    assert "calls without a user" not in found(bus)
    tool_call("send")
    assert "calls without a user are counted together, 1 so far" in found(bus)
    assert "wrap the call in with baggage(user=...)" in found(bus)


# -- options ---------------------------------------------------------------------------------------

INSTALLS = [
    getattr(adapters, name).install for name in adapters.__all__ if name != "openclaw"  # has none
]
PUBLIC = [
    Bus, hookable, Block, Ask, Replace, hookspec, report, hookbus.explain, hookbus.load_plugins,
    Journal, replay, Store, Approved, Denied, Parked, chrome.ChromeTrace, jsonl.JsonLines,
    log.Logging, otel.OpenTelemetry, notify, *INSTALLS,
    *(getattr(guards, name) for name in guards.__all__),
]  # fmt: skip


@pytest.mark.parametrize(
    "made", PUBLIC, ids=lambda made: f"{made.__module__.rpartition('.')[2]}.{made.__name__}"
)
def test_a_wrong_name_of_an_option_is_refused_with_the_right_one(made):
    names = [
        each.name for each in inspect.signature(made).parameters.values()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]  # fmt: skip
    for name in names:
        wrong = f"{name[:-1]}{name[-1] * 2}"
        with pytest.raises(HookError, match=f"has no option '{wrong}'; did you mean '{name}'"):
            made(**{wrong: 1})


@pytest.mark.parametrize("call, meant", [
    (lambda bus: bus.require_guard("reply", phse="pre"), "has no option 'phse'.*'phase'"),
    (lambda bus: bus.approver(ok, timout=3), "approver has no option 'timout'.*'timeout'"),
    (lambda bus: bus.redact("password"), "redact takes no positional arguments.*names="),
    (lambda bus: bus.switch("ok", "disable", bye="ada"), "switch has no option 'bye'.*'by'"),
])  # fmt: skip
def test_a_wrong_option_of_a_bus_is_refused_alike(bus, call, meant):
    with pytest.raises(HookError, match=meant):
        call(bus)


@pytest.mark.parametrize("made", [
    lambda bus: hookable(bus=bus), lambda bus: hookspec(modes.void, bus=bus), report,
    lambda bus: hookbus.instrument(Inbox, "pending", bus=bus),
])  # fmt: skip
@pytest.mark.parametrize("wrong, instead", [("default", "bus=Bus()"), (Bus, "Bus() to")])
def test_what_is_no_bus_is_refused(made, wrong, instead):
    with pytest.raises(HookError, match=f"is not a bus: write .*{re.escape(instead)}"):
        made(wrong)


def test_a_folder_of_plugins_holds_folders(tmp_path):
    (tmp_path / "guard.py").write_text("")
    with pytest.warns(HookWarning, match="contains no plugin: each plugin must be a folder in it"):
        hookbus.load_plugins(Bus(), user=tmp_path, installed=False)
    (tmp_path / "secrets").mkdir()
    hookbus.load_plugins(Bus(), user=tmp_path, installed=False)
    with pytest.raises(HookError, match="must be one folder"):
        hookbus.load_plugins(Bus(), user=[tmp_path])
    with pytest.raises(HookError, match="is not a bus: write Bus"):
        hookbus.load_plugins(Bus, user=tmp_path)


def test_what_takes_no_option_says_so_and_another_type_error_stays_what_it_is():
    with pytest.raises(HookError, match="Inbox takes no positional arguments, but got 1"):
        Inbox("a.db")
    with pytest.raises(HookError, match="load_plugins takes 1 positional .*workspace=, user="):
        hookbus.load_plugins(Bus(), "plugins")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Block()


def test_a_right_call_is_not_warned_of_and_the_signature_stays():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Block("no", code="x") == Block("no", code="x")
    assert list(inspect.signature(Block).parameters) == ["reason", "result", "code", "details"]


def test_keys_whose_own_code_raises_do_not_lose_the_change_of_a_modifier():
    bus = Bus()

    class Key:
        is_broken = False

        def __hash__(self):
            return hash("safe")

        def __eq__(self, other):
            if self.is_broken:
                raise ValueError("broken")
            return self is other

    @hookable("send", bus=bus)
    def send(options):
        return options

    bus.signal("pre_send").connect(lambda send: {"options": {"safe": 1}})
    secret = Key()
    options = {secret: 1}
    assert send({"seen": 1}) == {"safe": 1}  # from here on, dicts are compared
    secret.is_broken = True
    assert send(options) == {"safe": 1}


def test_a_result_whose_class_has_no_readable_name_is_replaced_by_a_bool():
    bus = Bus()

    class Unnamed(type):
        @property
        def __name__(cls):
            raise ValueError("broken")

    @hookable("send", bus=bus)
    def send():
        return Unnamed("Result", (), {})()

    bus.signal("post_send").connect(lambda send, result: True)
    assert send() is True
