"""What AgentScope's users rely on, on the real package: before `install`, while it runs on hookbus,
and after `uninstall`.

Each test is the same in all three; that it passes before says that it describes AgentScope and not
the adapter.
"""

import asyncio
import functools
import inspect
import threading

import pytest
from agentscope.agent import AgentBase, ReActAgentBase
from agentscope.message import Msg

from hookbus import Bus
from hookbus.adapters import agentscope

TYPES = [f"{phase}_{name}" for name in ("reply", "print", "observe") for phase in ("pre", "post")]
REACT_TYPES = TYPES + [
    f"{phase}_{name}" for name in ("reasoning", "acting") for phase in ("pre", "post")
]


@pytest.fixture(params=["before", "during", "after"], autouse=True)
def state(request):
    if request.param == "before":
        yield request.param
    else:
        uninstall = agentscope.install(Bus(values=True))
        if request.param == "after":
            uninstall()
        yield request.param
        uninstall()
    ReActAgentBase.clear_class_hooks()


class Existing(AgentBase):
    """A class that is there before anything is installed."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    async def reply(self, msg, temperature=0.7):
        self.bodies.append((msg, temperature))
        return f"re: {msg}"

    async def observe(self, msg):
        self.bodies.append(msg)

    async def handle_interrupt(self, *args, **kwargs):
        return Msg("agent", "interrupted", "assistant")


def made_now():
    class Agent(Existing):
        async def reply(self, msg, temperature=0.7):
            self.bodies.append((msg, temperature))
            return f"re: {msg}"

    return Agent()


@pytest.fixture(params=["of a class that exists", "of a class made later"])
def agent(request):
    return Existing() if request.param == "of a class that exists" else made_now()


class React(ReActAgentBase):
    async def reply(self, msg):
        return [await self._reasoning("auto"), await self._acting({"name": msg})]

    async def _reasoning(self, tool_choice=None):
        return f"thought {tool_choice}"

    async def _acting(self, tool_call):
        return f"did {tool_call['name']}"


def run(awaitable):
    return asyncio.run(awaitable)


# -- P1, P2: registration --------------------------------------------------------------------------


def test_agentscope_P1_the_six_registration_methods_return_none_and_raise_as_documented(agent):
    noop = lambda self, kwargs: None  # noqa: E731
    assert agent.register_instance_hook("pre_reply", "a", noop) is None
    assert agent.remove_instance_hook("pre_reply", "a") is None
    assert agent.clear_instance_hooks() is None and agent.clear_instance_hooks("pre_reply") is None
    assert Existing.register_class_hook("pre_reply", "a", noop) is None
    assert Existing.remove_class_hook("pre_reply", "a") is None
    assert Existing.clear_class_hooks() is None and Existing.clear_class_hooks("pre_reply") is None

    with pytest.raises(AttributeError):
        agent.register_instance_hook("pre_dinner", "a", noop)
    with pytest.raises(ValueError, match="Hook 'a' not found in 'pre_reply' hooks of .* instance"):
        agent.remove_instance_hook("pre_reply", "a")
    with pytest.raises(AssertionError, match="Invalid hook type: pre_dinner"):
        agent.clear_instance_hooks("pre_dinner")
    for call in (
        lambda: Existing.register_class_hook("pre_dinner", "a", noop),
        lambda: Existing.remove_class_hook("pre_dinner", "a"),
        lambda: Existing.clear_class_hooks("pre_dinner"),
    ):  # fmt: skip
        with pytest.raises(AssertionError, match="Invalid hook type: pre_dinner"):
            call()
    with pytest.raises(
        ValueError, match="Hook 'a' not found in 'pre_reply' hooks of Existing class"
    ):
        Existing.remove_class_hook("pre_reply", "a")
    with pytest.raises(TypeError):
        AgentBase.register_instance_hook(object(), "pre_reply", "a", noop)


def test_agentscope_P1_an_agent_that_never_called_super_init_is_told_so():
    class Forgetful(AgentBase):
        def __init__(self):
            pass

        async def reply(self, msg):
            return msg

    with pytest.raises(AssertionError, match="Hooks for reply not found in Forgetful"):
        run(Forgetful().reply("hi"))


def test_agentscope_P2_supported_hook_types_are_six_on_agents_and_ten_on_react_agents():
    assert sorted(AgentBase.supported_hook_types) == sorted(TYPES)
    assert sorted(ReActAgentBase.supported_hook_types) == sorted(REACT_TYPES)


def test_agentscope_P2_every_one_of_the_ten_types_runs(capsys):
    ran = []
    agent = React()
    agent.set_console_output_enabled(False)
    for hook_type in REACT_TYPES:
        agent.register_instance_hook(
            hook_type, "note", lambda self, kwargs, *output, t=hook_type: ran.append(t)
        )

    async def everything():
        await agent.reply("x")
        await agent.print(Msg("a", "b", "assistant"))
        with pytest.raises(NotImplementedError):
            await agent.observe(None)

    run(everything())
    assert ran == [
        "pre_reply", "pre_reasoning", "post_reasoning", "pre_acting", "post_acting", "post_reply",
        "pre_print", "post_print", "pre_observe",
    ]  # fmt: skip


# -- P3 to P6: what hooks get and give -------------------------------------------------------------


def test_agentscope_P3_hooks_are_called_by_position_with_the_agent_itself(agent):
    got = []
    agent.register_instance_hook("pre_reply", "a", lambda *args, **named: got.append((args, named)))
    agent.register_instance_hook(
        "post_reply", "a", lambda *args, **named: got.append((args, named))
    )
    run(agent.reply("hi"))
    (pre, pre_named), (post, post_named) = got
    assert pre[0] is agent and pre[1:] == ({"msg": "hi", "temperature": 0.7},) and pre_named == {}
    assert (
        post[0] is agent
        and post[1:] == ({"msg": "hi", "temperature": 0.7}, "re: hi")
        and post_named == {}
    )


def test_agentscope_P4_a_returned_dict_replaces_all_arguments_for_the_next_hook_and_the_body(agent):
    seen = []
    agent.register_instance_hook(
        "pre_reply", "a", lambda self, kwargs: {"msg": kwargs["msg"] + "!"}
    )
    agent.register_instance_hook("pre_reply", "b", lambda self, kwargs: seen.append(kwargs))
    agent.register_instance_hook(
        "post_reply", "c", lambda self, kwargs, output: seen.append(kwargs)
    )
    assert run(agent.reply("hi", temperature=0.1)) == "re: hi!"
    assert seen == [{"msg": "hi!"}, {"msg": "hi!"}]
    assert agent.bodies == [("hi!", 0.7)]


@pytest.mark.parametrize("answer", [True, False, "text", 0, [("msg", "x")]])
def test_agentscope_P4_any_other_return_is_an_assertion_error_that_names_the_hook(agent, answer):
    def careless(self, kwargs):
        return answer

    agent.register_instance_hook("pre_reply", "a", careless)
    with pytest.raises(AssertionError, match=f"rather than {type(answer)!r} from hook careless"):
        run(agent.reply("hi"))
    assert agent.bodies == []


def test_agentscope_P4_a_dict_that_does_not_fit_the_method_is_the_methods_type_error(agent):
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: {**kwargs, "mgs": 1})
    with pytest.raises(TypeError, match=r"reply\(\) got an unexpected keyword argument 'mgs'"):
        run(agent.reply("hi"))
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: {"temperature": 1})
    with pytest.raises(TypeError, match=r"reply\(\) missing 1 required positional argument: 'msg'"):
        run(agent.reply("hi"))
    agent.register_instance_hook("pre_reply", "b", lambda self, kwargs: {**kwargs, "msg": "mended"})
    assert run(agent.reply("hi")) == "re: mended"
    assert agent.bodies == [("mended", 1)]


def test_agentscope_P5_each_hook_has_a_deep_copy_and_edits_that_are_not_returned_are_gone(agent):
    given, seen = ["hi"], []

    def scribble(self, kwargs, *output):
        seen.append(list(kwargs["msg"]))
        kwargs["msg"].append("scribble")

    for phase in ("pre", "post"):
        for name in ("a", "b"):
            agent.register_instance_hook(f"{phase}_observe", name, scribble)
    run(agent.observe(given))
    assert given == ["hi"] and seen == [["hi"]] * 4
    assert agent.bodies[0] is given, (
        "no hook returned a dict: the body gets the caller's own objects"
    )


def test_agentscope_P5_the_output_is_copied_for_each_post_hook():
    answer = {"parts": [1]}

    class Agent(AgentBase):
        async def reply(self):
            return answer

    agent = Agent()
    seen = []
    for name in ("a", "b"):

        def edit(self, kwargs, output):
            seen.append(output)
            output["parts"].append(2)

        agent.register_instance_hook("post_reply", name, edit)
    assert run(agent.reply()) is answer
    assert answer == {"parts": [1]} and seen == [{"parts": [1, 2]}] * 2 and seen[0] is not seen[1]


def test_agentscope_P5_what_cannot_be_copied_is_pythons_type_error(agent):
    for phase in ("pre", "post"):
        agent.register_instance_hook(f"{phase}_reply", "noop", lambda self, kwargs, *output: None)
        with pytest.raises(TypeError, match="cannot pickle '_thread.lock' object"):
            run(agent.reply(threading.Lock()))
        agent.clear_instance_hooks("pre_reply")
    assert len(agent.bodies) == 1


@pytest.mark.parametrize("output", [42, False, "", {"any": "thing"}, ("x",)])
def test_agentscope_P6_anything_but_none_replaces_the_output_unchecked(agent, output):
    seen = []
    agent.register_instance_hook("post_reply", "a", lambda self, kwargs, given: None)
    agent.register_instance_hook("post_reply", "b", lambda self, kwargs, given: output)
    agent.register_instance_hook("post_reply", "c", lambda self, kwargs, given: seen.append(given))
    assert run(agent.reply("hi")) == output
    assert seen == [output]


def test_agentscope_P6_post_hooks_see_the_final_arguments(agent):
    seen = []
    agent.register_instance_hook(
        "post_reply", "a", lambda self, kwargs, output: seen.append(kwargs)
    )
    agent.register_instance_hook("pre_reply", "b", lambda self, kwargs: {**kwargs, "msg": "other"})
    run(agent.reply("hi"))
    assert seen == [{"msg": "other", "temperature": 0.7}]


# -- P7, P8: order and snapshots -------------------------------------------------------------------


def noting(ran, name):
    return lambda self, kwargs, *output: ran.append(name)


def test_agentscope_P7_instance_hooks_then_class_hooks_in_order_of_registration_in_both_phases(
    agent,
):
    ran = []
    for phase in ("pre", "post"):
        AgentBase.register_class_hook(f"{phase}_reply", "c1", noting(ran, f"{phase} c1"))
        agent.register_instance_hook(f"{phase}_reply", "i1", noting(ran, f"{phase} i1"))
        AgentBase.register_class_hook(f"{phase}_reply", "c2", noting(ran, f"{phase} c2"))
        agent.register_instance_hook(f"{phase}_reply", "i2", noting(ran, f"{phase} i2"))
    run(agent.reply("hi"))
    assert ran == [
        f"{phase} {name}" for phase in ("pre", "post") for name in ("i1", "i2", "c1", "c2")
    ]


def test_agentscope_P7_overwriting_a_name_keeps_its_place_and_registering_it_anew_does_not(agent):
    ran = []
    for name in ("a", "b", "c"):
        agent.register_instance_hook("pre_reply", name, noting(ran, name))
    agent.register_instance_hook("pre_reply", "a", noting(ran, "a again"))
    run(agent.reply("hi"))
    agent.remove_instance_hook("pre_reply", "b")
    agent.register_instance_hook("pre_reply", "b", noting(ran, "b anew"))
    run(agent.reply("hi"))
    assert ran == ["a again", "b", "c", "a again", "c", "b anew"]


def test_agentscope_P7_dicts_edited_directly_are_followed(agent):
    ran = []
    agent._instance_pre_reply_hooks["a"] = noting(ran, "a")
    agent._instance_pre_reply_hooks["b"] = noting(ran, "b")
    AgentBase._class_pre_reply_hooks["c"] = noting(ran, "c")
    run(agent.reply("hi"))
    agent._instance_pre_reply_hooks.move_to_end("a")
    del AgentBase._class_pre_reply_hooks["c"]
    run(agent.reply("hi"))
    agent._instance_pre_reply_hooks.clear()
    run(agent.reply("hi"))
    assert ran == ["a", "b", "c", "b", "a"]


@pytest.mark.parametrize("while_it_runs", ["a pre-hook", "the body"])
@pytest.mark.parametrize("others", [(), ("instance",), ("class",), ("instance", "class")])
def test_agentscope_P8_post_hooks_registered_during_a_call_run_in_it_in_their_place(
    while_it_runs, others
):
    ran = []

    def register(self):
        self.register_instance_hook("post_reply", "late", noting(ran, "late instance"))
        AgentBase.register_class_hook("post_reply", "late", noting(ran, "late class"))

    class Agent(AgentBase):
        async def reply(self, msg, temperature=0.7):
            if while_it_runs == "the body":
                register(self)
            return msg

    agent = Agent()
    if "instance" in others:
        agent.register_instance_hook("post_reply", "early", noting(ran, "instance"))
    if "class" in others:
        AgentBase.register_class_hook("post_reply", "early", noting(ran, "class"))
    if while_it_runs == "a pre-hook":
        agent.register_instance_hook("pre_reply", "registers", lambda self, kwargs: register(self))
    run(agent.reply("hi"))
    early = {name: [name] if name in others else [] for name in ("instance", "class")}
    assert ran == [*early["instance"], "late instance", *early["class"], "late class"]


def test_agentscope_P8_a_hook_removed_in_a_phase_still_runs_in_it_and_one_removed_by_the_body_not():
    ran = []

    class Agent(AgentBase):
        async def reply(self):
            self.remove_instance_hook("post_reply", "gone")

    agent = Agent()
    agent.register_instance_hook(
        "pre_reply", "remover", lambda self, kwargs: self.clear_instance_hooks("pre_reply")
    )
    agent.register_instance_hook("pre_reply", "next", noting(ran, "next"))
    agent.register_instance_hook("post_reply", "gone", noting(ran, "gone"))
    agent.register_instance_hook(
        "post_reply",
        "remover",
        lambda self, kwargs, output: self.clear_instance_hooks("post_reply"),
    )
    agent.register_instance_hook("post_reply", "last", noting(ran, "last"))
    run(agent.reply())
    assert ran == ["next", "last"]


def test_agentscope_P8_what_a_late_post_hook_returns_is_the_output():
    class Agent(AgentBase):
        async def reply(self, msg):
            self.register_instance_hook(
                "post_reply", "late", lambda self, kwargs, output: (kwargs, output)
            )
            return "body"

    assert run(Agent().reply("hi")) == ({"msg": "hi"}, "body")


# -- P9: normalisation -----------------------------------------------------------------------------


def test_agentscope_P9_the_dict_has_every_parameter_but_self_with_defaults_and_stars_nested():
    class Agent(AgentBase):
        async def reply(self, first, *args, flag=False, **kwargs):
            return first, args, flag, kwargs

    agent = Agent()
    seen = []
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: seen.append(kwargs))
    assert run(agent.reply("x")) == ("x", (), False, {})
    assert run(agent.reply(first="x", more=3)) == ("x", (), False, {"more": 3})
    assert seen == [
        {"first": "x", "args": (), "flag": False, "kwargs": {}},
        {"first": "x", "args": (), "flag": False, "kwargs": {"more": 3}},
    ]  # fmt: skip


def test_agentscope_P9_stars_come_back_spread():
    class Agent(AgentBase):
        async def reply(self, *args, **kwargs):
            return args, kwargs

    agent = Agent()
    agent.register_instance_hook(
        "pre_reply",
        "a",
        lambda self, kwargs: {"args": ["other", *kwargs["args"]], "kwargs": {"k": 1}},
    )
    assert run(agent.reply("x", y=2)) == (("other", "x"), {"k": 1})
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: {"msg": "named"})
    assert run(agent.reply("x", y=2)) == ((), {"msg": "named"})


def test_agentscope_P9_a_call_that_does_not_bind_says_what_was_expected_and_provided(agent):
    with pytest.raises(TypeError) as refused:
        run(agent.reply("hi", 1, 2, colour="red"))
    told = str(refused.value)
    assert told.startswith("Failed to bind parameters for function 'reply': ")
    assert "Expected parameters: ['self', 'msg', 'temperature']" in told
    assert "Provided 3 positional args and kwargs: ['colour']" in told
    assert agent.bodies == []


# -- P10: exceptions -------------------------------------------------------------------------------


class Mine(Exception):
    pass


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_agentscope_P10_an_exception_of_a_hook_goes_out_unchanged_and_later_hooks_do_not_run(
    agent, phase
):
    error, ran = Mine("the hook's own"), []

    def raises(self, kwargs, *output):
        raise error

    agent.register_instance_hook(f"{phase}_reply", "a", raises)
    agent.register_instance_hook(f"{phase}_reply", "b", noting(ran, "b"))
    AgentBase.register_class_hook("post_reply", "c", noting(ran, "c"))
    with pytest.raises(Mine) as raised:
        run(agent.reply("hi"))
    assert raised.value is error
    assert (
        error.__cause__ is None
        and error.__context__ is None
        and not getattr(error, "__notes__", [])
    )
    assert ran == []
    assert len(agent.bodies) == (phase == "post")


def test_agentscope_P10_post_hooks_do_not_run_when_the_body_raises():
    error, ran = Mine("the body's own"), []

    class Agent(AgentBase):
        async def reply(self):
            raise error

    agent = Agent()
    agent.register_instance_hook("post_reply", "a", noting(ran, "a"))
    with pytest.raises(Mine) as raised:
        run(agent.reply())
    assert raised.value is error and ran == []


def test_agentscope_P10_an_interrupted_reply_is_handled_without_hooks():
    ran = []

    class Slow(Existing):
        async def reply(self, msg):
            self.started.set()
            await asyncio.sleep(30)

    slow = Slow()
    slow.register_instance_hook("post_reply", "a", noting(ran, "post"))

    async def interrupted():
        slow.started = asyncio.Event()
        task = asyncio.create_task(slow("hi"))
        await slow.started.wait()
        await slow.interrupt()
        return await task

    assert run(interrupted()).content == "interrupted"
    assert ran == []


# -- P11: colours ----------------------------------------------------------------------------------


def test_agentscope_P11_sync_hooks_run_on_the_loop_and_async_ones_and_partials_of_them_are_awaited(
    agent,
):
    ran = []

    def plain(self, kwargs):
        ran.append(
            (
                "plain",
                threading.current_thread() is threading.main_thread(),
                asyncio.get_running_loop() is not None,
            )
        )

    async def slow(tag, self, kwargs):
        await asyncio.sleep(0)
        ran.append(tag)
        return {"msg": f"{kwargs['msg']} {tag}"}

    agent.register_instance_hook("pre_reply", "plain", plain)
    agent.register_instance_hook("pre_reply", "partial", functools.partial(slow, "partial"))
    agent.register_instance_hook(
        "pre_reply", "twice", functools.partial(functools.partial(slow), "twice")
    )
    assert run(agent.reply("hi")) == "re: hi partial twice"
    assert ran == [("plain", True, True), "partial", "twice"]


def test_agentscope_P11_an_async_generator_is_no_hook(agent):
    async def streams(self, kwargs):
        yield kwargs

    agent.register_instance_hook("pre_reply", "a", streams)
    with pytest.raises(TypeError, match="async_generator can't be used in 'await' expression"):
        run(agent.reply("hi"))


# -- P12, P13: classes -----------------------------------------------------------------------------


def test_agentscope_P12_hooks_run_once_where_several_classes_define_the_method():
    ran = []

    class Base(AgentBase):
        async def reply(self, msg):
            return f"base {msg}"

    class Middle(Base):
        async def reply(self, msg):
            return await super().reply(msg + " middle")

    class Child(Middle):
        async def reply(self, msg):
            first, second = await asyncio.gather(
                super().reply(msg + " 1"), super().reply(msg + " 2")
            )
            return first, second

    agent = Child()
    agent.register_instance_hook("pre_reply", "a", noting(ran, "pre"))
    agent.register_instance_hook("post_reply", "a", noting(ran, "post"))
    assert run(agent.reply("hi")) == ("base hi 1 middle", "base hi 2 middle")
    assert ran == ["pre", "post"]


def test_agentscope_P12_an_explicit_call_of_a_parents_method_is_bare_on_hookbus_only(state):
    ran = []

    class Base(AgentBase):
        async def reply(self, msg):
            return "base"

    class Child(Base):
        async def reply(self, msg):
            return "child"

    agent = Child()
    agent.register_instance_hook("pre_reply", "a", noting(ran, "pre"))
    assert run(Base.reply(agent, "hi")) == "base"
    assert ran == ([] if state == "during" else ["pre"])


def test_agentscope_P13_class_hooks_of_the_base_run_for_every_agent(agent):
    ran = []
    AgentBase.register_class_hook("pre_reply", "studio", noting(ran, "studio"))
    run(agent.reply("hi"))
    run(made_now().reply("hi"))
    assert ran == ["studio"] * 2
    AgentBase.remove_class_hook("pre_reply", "studio")
    run(agent.reply("hi"))
    assert len(ran) == 2


def test_agentscope_P13_class_hooks_are_one_dict_for_all_classes():
    ran = []

    class One(Existing):
        pass

    class Two(Existing):
        pass

    One.register_class_hook("pre_reply", "shared", noting(ran, "shared"))
    run(Two().reply("hi"))
    Two.clear_class_hooks()
    run(One().reply("hi"))
    assert ran == ["shared"]


# -- P14, P15 --------------------------------------------------------------------------------------


def test_agentscope_P14_pre_print_fires_once_per_chunk_with_the_accumulated_message(capsys):
    seen = []

    class Agent(AgentBase):
        async def reply(self):
            msg = Msg("agent", "", "assistant")
            for word in ("one", " two", " three"):
                msg.content += word
                await self.print(msg, word == " three")
            return msg

    agent = Agent()
    agent.register_instance_hook(
        "pre_print",
        "sse",
        lambda self, kwargs: seen.append((kwargs["msg"].content, kwargs["last"])),
    )
    run(agent.reply())
    assert seen == [("one", False), ("one two", False), ("one two three", True)]
    assert capsys.readouterr().out.startswith("agent: one two three")


def test_agentscope_P15_the_running_flag_reads_as_false_outside_of_a_call(agent):
    run(agent.reply("hi"))
    assert getattr(agent, "_hook_running_reply", False) is False


# -- what is wrapped -------------------------------------------------------------------------------


def test_agentscope_P12_wrapped_methods_keep_their_name_signature_colour_and_what_they_wrap():
    for cls in (Existing, type(made_now())):
        method = cls.reply
        assert inspect.iscoroutinefunction(method)
        assert (method.__name__, method.__qualname__.rsplit(".", 1)[1]) == ("reply", "reply")
        assert list(inspect.signature(method).parameters) == ["self", "msg", "temperature"]
        assert (
            inspect.isfunction(method.__wrapped__)
            and method.__wrapped__.__code__.co_name == "reply"
        )


def test_agentscope_P12_abstract_methods_stay_abstract():
    assert (
        ReActAgentBase._reasoning.__isabstractmethod__
        and ReActAgentBase._acting.__isabstractmethod__
    )
    assert not getattr(AgentBase.reply, "__isabstractmethod__", False)


def test_agentscope_P12_recursion_runs_the_hooks_of_the_outermost_call_only():
    seen = []

    class Agent(AgentBase):
        async def reply(self, n):
            return n if n == 0 else await self.reply(n - 1)

    agent = Agent()
    agent.register_instance_hook("pre_reply", "a", lambda self, kwargs: seen.append(kwargs["n"]))
    assert run(agent.reply(2)) == 0
    assert seen == [2]


def test_what_two_arguments_share_their_copies_for_hooks_share(state):
    seen = []
    agent = made_now()
    agent.register_instance_hook("pre_reply", "look", lambda self, kwargs: seen.append(kwargs))
    agent.register_instance_hook(
        "post_reply", "look", lambda self, kwargs, output: seen.append(kwargs)
    )
    shared = ["one list"]
    asyncio.run(agent.reply(shared, temperature=shared))
    for kwargs in seen:
        assert kwargs == {"msg": shared, "temperature": shared}
        assert kwargs["msg"] is kwargs["temperature"] is not shared
    assert len(seen) == 2
