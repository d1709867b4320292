"""Plugins answer questions: receivers connected by the name of a hookspec, checked against it
before anything is connected.
"""

import pytest

from hookbus import explain, hookspec, modes

from .conftest import assert_no_trace, receivers_on, said_of

ANSWERS = """
from hookbus import receives

def by_chat(message): return f"chat of {message}"

class Late:
    @receives("resolve_session", priority=-1)
    def by_user(self, message): return f"user of {message}"

def register(api):
    api.register(Late())
    api.connect("resolve_session", by_chat)
"""


@pytest.fixture
def resolve_session(bus):
    @hookspec(modes.firstresult, bus=bus)
    def resolve_session(message, channel="cli"): ...

    return resolve_session


def test_a_plugin_answers_a_question(load, bus, user, resolve_session):
    user.put("a", ANSWERS, hooks=["resolve_session"])
    plugins = load(
        user=user,
        overrides={
            "a": {"timeout": 2.0, "receivers": {"by_chat": {"on_error": "raise", "priority": -9}}}
        },
    )
    assert plugins.diagnostics == ()
    assert resolve_session(message="m") == "user of m"
    assert [(row.receiver, row.plugin, row.operator) for row in explain(resolve_session)] == [
        ("Late.by_user", "a", "timeout (was None)"),
        ("by_chat", "a", "timeout (was None), on_error (was isolate), priority (was 0)"),
    ]
    plugins.unload("a")
    assert resolve_session(message="m") is None
    assert_no_trace(bus)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (
            "def odd(mesage): pass",
            "has a parameter 'mesage', which resolve_session does not have; did you mean 'message'",
        ),
        ("async def odd(message): pass", "is async"),
    ],
)
def test_an_answer_that_does_not_fit_the_question_refuses_its_plugin_whole(
    load, bus, user, resolve_session, code, problem
):
    code += """
def fine(message): return 'half'
def register(api):
    api.connect('resolve_session', fine)
    api.connect('resolve_session', odd)
"""
    user.put("odd", code, hooks=["resolve_session"])
    user.put("a", ANSWERS, hooks=["resolve_session"])
    plugins = load(user=user)
    assert problem in said_of("odd", plugins)
    assert plugins.loaded == ("a",) and resolve_session(message="m") == "chat of m"
    assert {name for _, name in receivers_on(bus)} == {"by_chat", "Late.by_user"}


def test_an_answer_may_be_there_before_its_question(load, bus, user):
    user.put("a", ANSWERS, hooks=["resolve_session"])
    load(user=user)

    @hookspec(modes.broadcast, bus=bus)
    def resolve_session(message): ...

    assert resolve_session(message="m") == ["chat of m", "user of m"]
