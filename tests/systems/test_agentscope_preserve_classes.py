"""The colours and classes that AgentScope's users rely on, in every state."""

import asyncio
import functools
import inspect
import threading

import pytest
from agentscope.agent import AgentBase, ReActAgentBase
from agentscope.message import Msg

from . import agentscope_states as parts
from .agentscope_states import Existing, made_now, noting, run

state = parts.state
agent = parts.agent


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
