"""What AgentScope's users rely on, on the real package: before `install`, while it runs on hookbus,
and after `uninstall`.

Each test is the same in all three; that it passes before says that it describes AgentScope and not
the adapter.
"""

import threading

import pytest
from agentscope.agent import AgentBase, ReActAgentBase
from agentscope.message import Msg

from . import agentscope_states as parts
from .agentscope_states import Existing, run

state = parts.state
agent = parts.agent


TYPES = [f"{phase}_{name}" for name in ("reply", "print", "observe") for phase in ("pre", "post")]


REACT_TYPES = TYPES + [
    f"{phase}_{name}" for name in ("reasoning", "acting") for phase in ("pre", "post")
]


class React(ReActAgentBase):
    async def reply(self, msg):
        return [await self._reasoning("auto"), await self._acting({"name": msg})]

    async def _reasoning(self, tool_choice=None):
        return f"thought {tool_choice}"

    async def _acting(self, tool_call):
        return f"did {tool_call['name']}"


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
