"""explain and report answer, in one line each: who runs, in what order, what broke, and what will
never fire.
"""

import threading
from typing import Literal

import pytest

from hookbus import Block, Bus, HookError, explain, hookable, hookspec, modes, report


@pytest.fixture
def bus():
    return Bus(timeout=5.0)


@pytest.fixture
def Agent(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg, mode: Literal["fast", "slow"] = "fast"):
            return msg

    return Agent


def shout(agent, msg):
    return {"msg": msg.upper()}


def refuse(agent, msg):
    return Block("no <b>way</b>") if msg == "BAD" else None


def look(agent):
    return None


def connect_three(bus, Agent):
    bus.signal("pre_reply").connect(look, role="observe", priority=99)
    bus.signal("pre_reply").connect(refuse, sender=Agent, role="guard", timeout=2.0)
    bus.signal("pre_reply").connect(shout, sender=Agent)
    bus.signal("finally_reply").connect(look)


def test_explain_lists_who_runs_in_the_order_they_run(bus, Agent):
    agent, ran = Agent(), []
    connect_three(bus, Agent)
    rows = explain(agent.reply)
    assert [(row.phase, row.position, row.receiver, row.role) for row in rows] == [
        ("pre", 1, "shout", "modify"), ("pre", 2, "refuse", "guard"), ("pre", 3, "look", "observe"),
        ("finally", 1, "look", "observe"),
    ]  # fmt: skip
    assert [(row.scope, row.on_error, row.timeout) for row in rows[:3]] == [
        ("class Agent".replace("Agent", Agent.__qualname__), "isolate", 5.0),
        (f"class {Agent.__qualname__}", "block", 2.0), ("ANY", "isolate", 5.0),
    ]  # fmt: skip
    assert rows[0].where == f"{__file__}:{shout.__code__.co_firstlineno}"
    assert ran == []


def test_explain_reads_as_text_and_as_html(bus, Agent):
    assert (
        "nobody listens" in str(explain(Agent().reply))
        and "nobody listens" in explain(Agent().reply)._repr_html_()
    )
    connect_three(bus, Agent)
    text, page = str(explain(Agent().reply)), explain(Agent().reply)._repr_html_()
    for part in ("reply of", "shout", "guard", "block", "2.0", __file__):
        assert part in text and part in page
    assert page.count("<tr>") == 5 and "<script" not in page


def test_explain_of_a_method_seen_from_its_class_speaks_of_any_instance(bus, Agent):
    connect_three(bus, Agent)
    Agent().reply("a")
    assert [row.receiver for row in explain(Agent.reply)] == ["shout", "refuse", "look", "look"]


def test_explain_refuses_what_is_not_hookable(bus):
    with pytest.raises(HookError, match="is not hookable: decorate it"):
        explain(look)


def test_report_counts_what_fired_failed_and_failed_open(bus, Agent):
    def broken(agent):
        raise KeyError("SECRET")

    bus.signal("pre_reply").connect(broken)
    bus.signal("pre_reply").connect(look, role="observe")
    bus.signal("post_reply").connect(shout, sender=Agent)
    Agent().reply("a"), Agent().reply("b")
    rows = {row["receiver"].rpartition(".")[2]: row for row in report(bus).receivers}
    assert (rows["broken"]["failures"], rows["broken"]["failed open"], rows["look"]["state"]) == (
        2, 2, "fired",
    )  # fmt: skip
    assert f"KeyError at {__file__}:{broken.__code__.co_firstlineno + 1}" in str(report(bus))
    assert "SECRET" not in str(report(bus)) + report(bus)._repr_html_()


def test_report_lists_hooks_and_says_what_nobody_emits_and_what_never_fired(bus, Agent):
    bus.signal("pre_replay").connect(look)
    bus.signal("per_reply").connect(look)
    bus.signal("pre_reply").connect(look)
    said = report(bus)
    assert [(row["hook"], row["colour"], row["receivers"]) for row in said.hooks] == [
        ("reply", "sync", 1)
    ]
    findings = "\n".join(said.findings)
    assert "nobody emits pre_replay" in findings and "did you mean 'pre_reply'" in findings
    assert "nobody emits per_reply" in findings
    assert "never fired: look" in findings


def test_report_says_which_modifier_should_be_a_guard(bus, Agent):
    bus.signal("pre_reply").connect(refuse)
    with pytest.raises(HookError):
        Agent().reply("BAD")
    assert any(
        "blocks, but fails open: make it a guard" in finding for finding in report(bus).findings
    )


def test_report_says_which_guard_failed_and_what_of(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: 1 / 0, role="guard", name="broken", weak=False)
    with pytest.raises(HookError):
        Agent().reply("hi")
    (finding,) = report(bus).findings
    assert (
        "broken" in finding
        and "failed and stopped the call once with ZeroDivisionError at" in finding
    )


def test_report_says_which_matcher_can_never_match(bus, Agent):
    bus.signal("pre_reply").connect(look, when={"mode": "quick*"}, name="never")
    bus.signal("pre_reply").connect(shout, when={"mode": "f*"}, name="sometimes")
    bus.signal("pre_late").connect(look, when={"tool": "bash*"}, name="missing")

    @hookable("late", bus=bus)
    def late(tool_name):
        return tool_name

    never = [finding for finding in report(bus).findings if "can never match" in finding]
    assert len(never) == 2 and "never" in never[1] and "missing" in never[0]


def test_report_says_which_name_in_before_and_after_nobody_has(bus, Agent):
    bus.signal("pre_reply").connect(look, before="shuot")
    bus.signal("pre_reply").connect(shout)
    assert any(
        "names 'shuot'" in finding and "did you mean 'shout'" in finding
        for finding in report(bus).findings
    )


def test_report_says_which_optional_argument_is_probably_a_typo(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent, mgs=None: None, role="guard", name="typo")
    assert any(
        "always gets its default for 'mgs'; did you mean 'msg'" in finding
        for finding in report(bus).findings
    )


def test_an_empty_bus_reports_as_text_and_html(bus):
    assert (
        "none are declared" in str(report(Bus()))
        and "none are connected" in report(Bus())._repr_html_()
    )


def test_explain_prints_the_function_that_runs_the_calls_and_says_whose_turn_is_which():
    bus = Bus()

    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    @bus.signal("pre_reply").connect_via(Agent)
    def shorten(agent, msg):
        return {"msg": msg[:3]}

    agent = Agent()
    text = str(explain(agent.reply, source=True))
    assert agent.reply("hello") == "hel"
    assert "# r0: " in text and "shorten" in text
    assert "answer := r0(self, msg)" in text
    assert "answer :=" not in str(explain(agent.reply))
    assert "<pre>" in explain(agent.reply, source=True)._repr_html_()


def test_explain_prints_the_function_that_asks_a_question():
    @hookspec(modes.firstresult, bus=Bus())
    def price(item: str) -> float: ...

    @price.connect
    def listed(item):
        return 2.0

    text = str(explain(price, source=True))
    assert price("tea") == 2.0
    assert "# r0: " in text and "listed" in text
    assert "answer := r0(item)" in text
    price.connect(lambda item: 3.0, priority=1)
    assert "answer := r1(item)" in str(explain(price, source=True))


def test_report_counts_the_overdue_workers_of_its_own_bus_only(bus, Agent):
    release = threading.Event()

    def hang(agent):
        release.wait(10)

    bus.signal("pre_reply").connect(hang, timeout=0.05)
    Agent().reply("a")
    try:
        assert any("past their receiver's deadline" in finding for finding in report(bus).findings)
        assert not any("deadline" in finding for finding in report(Bus()).findings)
    finally:
        release.set()
