"""Notebooks draw explain, report and record(): whole pictures, for light and dark pages, that
nothing can break out of.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from hookbus import (
    Block,
    Bus,
    Drop,
    HookBlocked,
    Replace,
    explain,
    hookable,
    hookspec,
    modes,
    report,
)
from hookbus._views.html import COLOURS
from hookbus.events import Finished, Lost, Started
from hookbus.testing import record

HOSTILE = "</svg></table><script>alert(1)</script><img src='//evil.example/x' onload=\"x()\">"
HOSTILE += "&amp;\x1b[31m\x00\u202e\ud800"


class Unpresentable:
    def __repr__(self):
        raise RuntimeError("no repr today")


@pytest.fixture
def bus():
    return Bus(values=True)


@pytest.fixture
def Agent(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return self.act(msg)

        @hookable("act", bus=bus)
        def act(self, command):
            return command

    return Agent


def terminal(monkeypatch, width):
    """Let what is printed be printed to a terminal of this width."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))


@pytest.fixture
def wide(monkeypatch):
    terminal(monkeypatch, 120)


def bundle_of(shown):
    """Return text and HTML as IPython takes them, after the checks every picture must pass."""
    bundle = shown._repr_mimebundle_(include=None, exclude=None)
    assert set(bundle) == {"text/plain", "text/html"}
    page = bundle["text/html"]
    tree = ElementTree.fromstring(page)
    assert not {"script", "img", "link", "iframe", "object", "foreignObject", "a"} & {
        node.tag for node in tree.iter()
    }
    attributes = {name for node in tree.iter() for name in node.attrib}
    assert not [name for name in attributes if name.startswith("on") or name in ("href", "src")]
    styles = "".join(node.text for node in tree.iter("style"))
    assert not re.search(
        r"https?:|//|url\(|@import", styles + "".join(node.get("style", "") for node in tree.iter())
    )
    return bundle["text/plain"], tree


def rows_of(tree):
    return [["".join(cell.itertext()) for cell in row][:3] for row in tree.iter("tr")][1:]


def test_a_recording_shows_who_was_called_in_which_call_and_what_receivers_did(bus, Agent, wide):
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": msg.lower()}, name="lower")
    bus.signal("pre_act").connect(
        lambda agent, command: Block("no removing"), role="guard", name="careful"
    )
    with record(bus) as fired, pytest.raises(HookBlocked):
        Agent().reply("RM")
    text, tree = bundle_of(fired)
    name = "Agent"
    expected = [
        (f"reply(msg='RM') of {name}: HookBlocked", "raised"),
        ("lower changed argument 'msg': 'RM' → 'rm'", "changed"),
        (f"act(command='rm') of {name}", "blocked"),
        ("careful blocked in pre: no removing", "blocked"),
    ]  # fmt: skip
    assert [tuple(row[:2]) for row in rows_of(tree)] == expected
    assert [row[0].get("style") for row in tree.find(".//tbody")] == [
        f"padding-left:{depth}em" for depth in (0, 1, 1, 2)
    ]
    lines = text.splitlines()
    assert (
        "2 calls" in lines[0]
        and "1 raised" in lines[0]
        and "1 blocked" in lines[0]
        and "1 changed" in lines[0]
    )
    assert [line.split()[0] for line in lines[1:]] == [word for _, word in expected]
    starts = [line.index(pair[0]) for line, pair in zip(lines[1:], expected)]
    assert [start - starts[0] for start in starts] == [0, 2, 2, 4]
    assert ["█" in line for line in lines[1:]] == [True, False, True, False]


def test_a_bar_stands_where_its_call_was_and_is_as_long(bus, wide):
    events = [
        Started(call_id=1, parent_id=None, hook="outer", sender="A at 0x1", at=100.0, arguments=()),
        Started(call_id=2, parent_id=1, hook="inner", sender="A at 0x1", at=106.0, arguments=()),
        Finished(
            call_id=2,
            parent_id=1,
            hook="inner",
            sender="A at 0x1",
            at=108.0,
            outcome="returned",
            seconds=2.0,
        ),
        Finished(
            call_id=1,
            parent_id=None,
            hook="outer",
            sender="A at 0x1",
            at=108.0,
            outcome="returned",
            seconds=8.0,
        ),
    ]
    fired = record(bus)
    fired.events += events
    text, tree = bundle_of(fired)
    outer, inner = [
        {name: float(rect.get(name).rstrip("%")) for name in ("x", "width")}
        for rect in tree.iter("rect")
    ]
    assert outer == {"x": 1.0, "width": 98.0}
    assert inner == {"x": 1 + 98 * 6 / 8, "width": 98 * 2 / 8}
    assert [title.text for title in tree.iter("title")] == ["from 0 µs to 8 s", "from 6 s to 8 s"]
    assert f"2 s  {' ' * 24}{'█' * 8}  " in text.splitlines()[2]


def test_calls_still_under_way_and_calls_that_began_before_are_in_the_picture(bus, Agent):
    agent = Agent()
    seen = []
    bus.signal("pre_act").connect(
        lambda agent, command: seen.append(str(fired)), role="observe", name="look"
    )

    def late(agent, call_next):
        with record(bus) as inner:
            result = call_next()
            agent.act("again")
        seen.append(inner)
        return result

    with record(bus) as fired, bus.signal("around_reply").connected_to(late):
        agent.reply("hi")
    assert "running" in seen[0] and "act(command='hi')" in seen[0]
    assert re.findall(r"act\(command='\w+'\)", str(seen[-1])) == [
        "act(command='hi')",
        "act(command='again')",
    ]
    text, _ = bundle_of(fired)
    assert "running" not in text
    finished_only = record(bus)
    finished_only.events += [
        event for event in fired.events if isinstance(event, Finished) and event.hook == "reply"
    ]
    assert "1 call in" in str(finished_only) and "returned" in str(finished_only)


def test_failures_say_their_kind_and_never_their_text(bus, Agent):
    def broken(agent):
        raise KeyError("SECRET")

    bus.signal("pre_reply").connect(broken)
    bus.signal("pre_act").connect(broken, role="guard", name="closed")
    with record(bus) as fired, pytest.raises(HookBlocked):
        Agent().reply("hi")
    text, tree = bundle_of(fired)
    assert (
        "failed in pre: KeyError, isolated" in text
        and "failed in pre: KeyError, blocked" in "".join(tree.itertext())
    )
    assert "SECRET" not in text + ElementTree.tostring(tree, "unicode")


def test_arguments_are_shown_only_where_the_bus_says_so_and_shortened():
    shy, open_bus = Bus(), Bus(values=True)
    for bus, shows in ((shy, False), (open_bus, True)):

        @hookable("tell", bus=bus)
        def tell(secret, thing=None):
            return secret

        bus.signal("pre_tell").connect(lambda f, secret: {"secret": "x" * 500}, name="grow")
        with record(bus) as fired:
            tell("4711", Unpresentable())
        text, tree = bundle_of(fired)
        assert ("4711" in text) is shows and ("4711" in "".join(tree.itertext())) is shows
        assert ("<Unpresentable>" in "".join(tree.itertext())) is shows
        assert "grow changed argument 'secret'" in text
        assert "x" * 100 not in "".join(tree.itertext())


def test_what_strangers_wrote_stays_text_in_every_picture(bus):
    class Agent:
        @hookable("reply", bus=bus)
        def reply(self, msg):
            return msg

    Agent.__qualname__ = HOSTILE
    bus.signal("pre_reply").connect(lambda agent, msg: {"msg": HOSTILE}, sender=Agent, name=HOSTILE)
    bus.signal("pre_reply").connect(lambda agent: Block(HOSTILE), role="guard", name="refuse")
    bus.signal("pre_nobody").connect(lambda agent: None, name=HOSTILE + "2")
    agent = Agent()
    with record(bus) as fired, pytest.raises(HookBlocked):
        agent.reply(HOSTILE)
    for shown in (fired, explain(agent.reply), explain(Agent.reply), report(bus)):
        text, tree = bundle_of(shown)
        words = "".join(tree.itertext())
        assert "<script>alert(1)</script>" in words, "it is there as text"
        assert "\\x1b" in words and "\\u202e" in words and "\\x1b" in text
        assert not set("\x1b\x00\u202e\ud800") & set(words + text)


def test_every_colour_has_its_word_and_stands_out_from_light_and_dark_pages(bus, Agent):
    def luminance(colour):
        parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def contrast(one, other):
        bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
        return (bright + 0.05) / (dark + 0.05)

    for colour in COLOURS.values():
        assert min(contrast(colour, page) for page in ("#ffffff", "#1e1e1e", "#111111")) >= 3.0, (
            colour
        )
    bus.signal("pre_reply").connect(lambda agent: Replace("x"), name="instead")
    with record(bus) as fired:
        Agent().reply("hi")
    _, tree = bundle_of(fired)
    assert (
        rows_of(tree)[0][1] == "replaced"
        and tree.find(".//rect").get("fill") == COLOURS["replaced"]
    )
    styles = "".join(node.text for node in tree.iter("style"))
    assert not re.findall(r"(?<!-)color: (?!inherit)", styles), (
        "text has the colour of the page around it"
    )


def test_instances_are_told_apart_by_number_where_there_are_several(bus, Agent):
    first, second = Agent(), Agent()
    with record(bus) as fired:
        first.act("a"), second.act("b"), first.act("c")
    assert re.findall(r" #\d$", str(fired), re.M) == [" #1", " #2", " #1"]


def test_a_function_and_a_question_are_named_once_and_a_class_is_named_as_one(bus):
    @hookable("tell", bus=bus)
    def told(msg):
        return who()

    @hookspec(modes.broadcast, bus=bus)
    def who(): ...

    class Agent:
        @classmethod
        @hookable("make", bus=bus)
        def make(cls):
            return cls()

    with record(bus) as fired:
        told("hi"), Agent.make()
    whats = [row[0] for row in rows_of(bundle_of(fired)[1])]
    assert whats == ["tell(msg='hi') of told()", "who()", "make() of class Agent"]


def test_an_empty_recording_and_a_lost_receiver_are_shown(bus):
    assert "nothing fired" in bundle_of(record(bus))[0]
    fired = record(bus)
    fired.events.append(
        Lost(call_id=0, parent_id=None, hook="reply", sender="unknown", at=5.0, receiver="gone")
    )
    assert "gone of reply was garbage collected" in bundle_of(fired)[0]


def test_explain_draws_the_way_of_a_call_with_the_method_in_the_middle(bus, Agent):
    assert "no receivers are connected" in "".join(bundle_of(explain(Agent().reply))[1].itertext())
    for phase in ("finally", "post", "around", "pre"):
        bus.signal(f"{phase}_reply").connect(lambda agent, call_next=None: None, name=f"my_{phase}")
    _, tree = bundle_of(explain(Agent().reply))
    assert "".join(tree.find(".//p").itertext()).split(" → ") == [
        "pre 1 my_pre (modify)", "around 1 my_around", "reply()", "post 1 my_post (modify)",
        "finally 1 my_finally (observe)",
    ]  # fmt: skip


def test_a_guard_that_comes_too_late_for_a_stream_is_drawn_beside_who_comes_in_time(bus):
    bus.signal("post_stream").connect(lambda agent: Block("no"), role="guard", name="late")
    bus.signal("post_stream").connect(lambda agent: None, name="in_time")

    class Agent:
        @hookable("stream", bus=bus)
        def stream(self):
            yield 1

    _, tree = bundle_of(explain(Agent.stream))
    assert (
        "".join(tree.find(".//p").itertext()) == "stream() → post 1 in_time (modify) 1 late (guard)"
    )


def test_explain_of_a_question_draws_who_answers(bus):
    @hookspec(modes.broadcast, bus=bus)
    def who(): ...

    who.connect(lambda: 1, name="me")
    _, tree = bundle_of(explain(who))
    assert "".join(tree.find(".//p").itertext()) == "answer 1 me"


def test_a_line_break_in_a_name_breaks_no_table(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: None, name="two\nlines")
    assert len(str(explain(Agent().reply)).splitlines()) == 3
    with record(bus) as fired:
        Agent().act("a\nb")
    assert len(str(fired).splitlines()) == 2


def test_a_report_draws_hooks_receivers_and_every_finding(bus, Agent):
    bus.signal("pre_reply").connect(lambda agent: None, name="silent")
    bus.signal("pre_nobody").connect(lambda agent: None, name="waiting")
    _, tree = bundle_of(report(bus))
    assert [heading.text for heading in tree.iter("h4")] == ["hooks", "receivers", "findings"]
    here = f" ({__file__}:"
    findings = [re.sub(re.escape(here) + r"\d+\)", "", each) for each in report(bus).findings]
    assert [item.text for item in tree.iter("li")] == findings != list(report(bus).findings)


# -- a person's eye --------------------------------------------------------------------------------


def whats(fired):
    return [row[0] for row in rows_of(bundle_of(fired)[1])]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_every_picture_is_as_wide_as_the_terminal(bus, Agent, monkeypatch, width):
    def a_modifier_with_quite_a_long_name(agent, msg):
        return {"msg": msg.replace("x", "y")}

    bus.signal("pre_reply").connect(a_modifier_with_quite_a_long_name, timeout=2.0, priority=7)
    bus.signal("pre_act").connect(lambda agent: 1 / 0, name="breaks", before="who")
    with record(bus) as fired:
        Agent().reply("a sentence with some words in it, and x at the end of it " * 3)
    terminal(monkeypatch, width)
    for shown in (fired, explain(Agent().reply), report(bus)):
        lines = str(shown).splitlines()
        assert max(map(len, lines)) <= width and len(lines) > 1
    monkeypatch.undo()
    assert max(map(len, str(report(bus)).splitlines())) <= 100, "the same where none shows it"


def test_a_value_that_changes_shows_the_first_place_where_it_does(bus, Agent, monkeypatch):
    long = "the beginning of the sentence is the same, and only then comes "
    nested = {"query": long, "tags": ["a", "b"], "page": {"limit": 10}}

    class Odd:
        def __eq__(self, other):
            raise RuntimeError("not today")

        def __repr__(self):
            raise RuntimeError("not today")

        __hash__ = object.__hash__

    class Named:
        def __init__(self, name):
            self.name = name

        def __repr__(self):
            return f"Named(text={long!r}, name={self.name!r})"

    endless = []
    endless.append(endless)
    cases = [
        ("a", "b", ": 'a' → 'b'"),
        (long + "me", long + "you", ": '… then comes me' → '… then comes you'"),
        (nested, {**nested, "page": {"limit": 3}}, " at ['page']['limit']: 10 → 3"),
        (nested, {**nested, "tags": ["a", "c", "b"]}, " at ['tags'][1]: 'b' → 'c'"),
        (nested, {**nested, "more": None}, " at ['more']: nothing → None"),
        ([1, 2], [1], " at [1]: 2 → nothing"),
        ({"a": 1}, [1], ": {'a': 1} → [1]"),
        (1, True, ": 1 → True"),
        (Named("Ada"), Named("Bob"), ": …es ', name='Ada') → …es ', name='Bob')"),
        ([Odd()], [Odd()], ""),
        ([Odd()], [3], " at [0]: <Odd> → 3"),
        (endless, [[[[]]]], " at [0]: '<list, which contains itself>' → [[[]]]"),
        (["same"] * 10_000, ["same"] * 9_999 + ["other"], ""),
        ("a\x1b[31m", "b\u202e", ": 'a\\x1b[31m' → 'b\\u202e'"),
    ]
    for before, after, expected in cases:
        patch = lambda agent, after=after: {"command": after}  # noqa: E731
        with bus.signal("pre_act").connected_to(patch, name="it"), record(bus) as fired:
            Agent().act(before)
        said = whats(fired)[1]
        assert said.startswith(f"it changed argument 'command'{expected}"), said
        assert len(said) < 200


def test_what_is_done_to_the_items_of_a_stream_is_one_line_with_a_count(Agent, monkeypatch):
    def shout(agent, item):
        return Drop() if item in ("b", "c") else item.upper()

    for values, expected in (
        (True, ["shout changed 3 items, the first: 'a' → 'A'",
                "shout dropped 2 items, the first: 'b'"]),
        (False, ["shout changed 3 items", "shout dropped 2 items"]),
    ):  # fmt: skip
        bus = Bus(values=values)

        @hookable("stream", bus=bus)
        def stream(items):
            yield from items

        bus.signal("item_stream").connect(lambda sender, item: shout(sender, item), name="shout")
        with record(bus) as fired:
            assert list(stream("abcde")) == ["A", "D", "E"]
        text, tree = bundle_of(fired)
        assert whats(fired)[1:] == expected
        assert [row[1] for row in rows_of(tree)] == ["returned", "changed", "dropped"]
        assert "3 changed, 2 dropped" in text.splitlines()[0]
        with record(bus) as fired:
            list(stream("b")), list(stream("a"))
        said = whats(fired)[1::2]
        bare = ["shout dropped item", "shout changed item"]
        assert said == ([f"{bare[0]}: 'b'", f"{bare[1]}: 'a' → 'A'"] if values else bare)


def test_a_stream_whose_consumer_has_left_says_so(bus):
    @hookable("stream", bus=bus)
    def stream():
        yield from "abc"

    with record(bus) as fired:
        left = stream()
        next(left)
        left.close()
    assert whats(fired) == ["stream(): left by its consumer"]
    assert "1 left" in str(fired).splitlines()[0] and "GeneratorExit" not in str(fired)


def test_attempts_are_bars_in_the_order_they_were_made(bus):
    class Agent:
        fails = 2

        @hookable("reply", bus=bus)
        def reply(self, msg):
            return self.act(msg)

        @hookable("act", bus=bus)
        def act(self, command):
            self.fails -= 1
            if self.fails >= 0:
                raise KeyError(command)

    def retry(agent, call_next):
        while True:
            try:
                return call_next()
            except KeyError:
                pass

    bus.signal("around_reply").connect(retry, name="retry")
    bus.signal("around_act").connect(lambda agent, call_next: call_next(), name="once")
    with record(bus) as fired:
        Agent().reply("hi")
    text, tree = bundle_of(fired)
    attempts = [line for line in text.splitlines() if "attempt" in line]
    assert [line.split()[0] for line in attempts] == ["raised", "raised", "returned"]
    assert any("█" in line for line in attempts) and "4 calls" in text.splitlines()[0]
    assert [row[0].split("(")[0] for row in rows_of(tree)] == [
        "reply", "attempt 1 of retry", "act", "attempt 2 of retry", "act", "attempt 3 of retry",
        "act",
    ]  # fmt: skip


def test_explain_and_report_say_what_is_unusual_and_each_place_once(bus, Agent, wide):
    def usual(agent, msg): ...
    def closes(agent, msg): ...
    def broken(agent, msg):
        raise KeyError

    pre = bus.signal("pre_reply")
    pre.connect(usual)
    pre.connect(closes, on_error="block", priority=3, timeout=0.5)
    pre.connect(broken, weak=False)
    Agent().reply("a")
    title, head, first, second, *_ = str(explain(Agent.reply)).splitlines()
    assert title == "reply of any Agent (sync)" and head.split()[-2:] == ["notes", "where"]
    assert "  priority 3, timeout 0.5 s, on_error block  " in first
    assert second.split()[:4] == ["2", "usual", "modify", "ANY"]
    text = str(report(bus))
    assert "failed open once" in text and "priority 3" in text and "failures" not in text
    for receiver in (usual, closes):
        assert text.count(f"{__file__.rpartition('/')[2]}:{receiver.__code__.co_firstlineno}") == 1
