"""Guards that read what strangers wrote answer, and close where they cannot finish in time."""

import base64
import string

import pytest

from hookbus import Bus, HookBlocked, HookError, hookable
from hookbus.guards import _deadline, quarantine, redact
from hookbus.guards._found import Finder
from tests.guards.hostile import BENIGN, HOSTILE

CARD = "4111 1111 1111 1111"
SLOW = ("openai", "cards that are none", "IBANs that are none", "base64 twice", "blocks")


@pytest.fixture
def tool(bus):
    """A tool that gives what it is told to give, and keeps what it was called with."""

    class Tool:
        result, got = None, []

    @hookable("tool_call", bus=bus)
    def tool_call(name, arguments):
        Tool.got = [*Tool.got, arguments]
        if isinstance(Tool.result, Exception):
            raise Tool.result
        return Tool.result

    Tool.call = staticmethod(tool_call)
    return Tool


@pytest.mark.parametrize("make", [redact, quarantine])
def test_every_crafted_text_is_answered_or_its_call_is_blocked(bus, tool, make):
    assert len(HOSTILE) >= 40
    bus.register(make())
    for what, hostile in HOSTILE.items():
        tool.result = hostile(4_000)
        try:
            tool.call("read", {})
        except HookBlocked as blocked:
            assert "TimeoutError" in blocked.reason, what


@pytest.mark.parametrize("make", [redact, quarantine])
def test_ordinary_texts_pass_as_they_are(bus, tool, make):
    bus.register(make(timeout=60))
    for what, benign in BENIGN.items():
        if make is quarantine and what == "HTML":
            continue  # tagged blocks go
        tool.result = benign(50_000)
        assert tool.call("read", {}) is tool.result, what


@pytest.mark.parametrize("what", SLOW)
def test_what_takes_too_long_is_withheld(bus, tool, what):
    bus.register(redact(timeout=0.001))
    tool.result = HOSTILE[what](300_000)
    with pytest.raises(HookBlocked, match="TimeoutError"):
        tool.call("read", {})
    with pytest.raises(HookBlocked, match="TimeoutError"):
        tool.call("read", {"text": tool.result})
    assert len(tool.got) == 1, "what it cannot look through does not reach the tool"


def test_a_text_that_quarantine_cannot_look_through_in_its_time_is_withheld(bus, tool):
    bus.register(quarantine(timeout=0.001))
    tool.result = HOSTILE["announcements in paragraphs"](300_000)
    with pytest.raises(HookBlocked, match="TimeoutError"):
        tool.call("read", {})
    with pytest.raises(TimeoutError):
        quarantine.text(tool.result, timeout=0.001)


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by some seconds whenever it is looked at."""

    class Clock:
        now, step = 0.0, 0.0

        def __call__(self):
            self.now += self.step
            return self.now

    clock = Clock()
    monkeypatch.setattr(_deadline.time, "thread_time", clock)
    return clock


def test_arguments_and_result_of_a_call_have_one_deadline_and_the_time_of_others_is_not_in_it(
    bus, clock, tool
):
    bus.register(redact(timeout=1))
    steps = []

    @bus.signal("pre_tool_call").connect_via(role="guard")
    def slow(sender):
        steps.append(clock.now)
        clock.now += 100

    tool.result = "y"
    clock.step = 0.0001
    assert tool.call("read", {"text": "x"}) == "y"
    # A step with which the arguments alone take over half of a second, and so does the result.
    clock.step *= 0.6 / steps.pop()
    with pytest.raises(HookBlocked, match="TimeoutError"):
        tool.call("read", {"text": "x"})
    assert len(steps) == 1 and len(tool.got) == 2, "it was the result for which no time was left"


GUARD = redact(hook="model_stream")


def stream_of(pieces, guard=GUARD):
    bus = Bus()
    bus.register(guard)

    @hookable("model_stream", bus=bus)
    def stream():
        yield from pieces

    return stream()


def in_pieces(text, size=4):
    return [text[i : i + size] for i in range(0, len(text), size)]


@pytest.mark.parametrize("what", ["rows as minified JSON", "Chinese", "HTML", "prose"])
def test_in_a_stream_of_small_items_only_what_is_new_is_looked_at(monkeypatch, what):
    looked_at, find = [], Finder.of

    def of(self, text, deadline, start=0, **options):
        looked_at.append(len(text))
        return find(self, text, deadline, start, **options)

    monkeypatch.setattr(Finder, "of", of)
    text = BENIGN[what](6_000)
    assert "".join(stream_of(in_pieces(text))) == text
    assert sum(looked_at) < 25 * len(text)


def test_a_secret_in_JSON_in_one_line_leaves_at_no_split():
    for hidden in (CARD, "YWRhQGV4YW1wbGUuY29t", "ada%40example.com"):
        whole = f'[{{"v":"w","to":"{hidden}","x":1}},{{"a":"b"}}]'
        for size in range(1, len(whole)):
            assert "".join(stream_of(in_pieces(whole, size))) == GUARD.text(whole)


def test_a_word_without_end_is_looked_at_a_few_times(monkeypatch):
    looked_at, find = [], Finder.open_from

    def open_from(self, text, start, deadline):
        looked_at.append(len(text))
        return find(self, text, start, deadline)

    monkeypatch.setattr(Finder, "open_from", open_from)
    key = "-----BEGIN PRIVATE KEY-----" + " abc" * 4_000
    for text in (key, "[1,2,3," * 2_300, "ab=\n" * 4_000):
        looked_at.clear()
        list(stream_of(in_pieces(text[:16_000])))
        assert sum(looked_at) < 12 * len(text)


def test_JSON_in_one_line_leaves_a_stream_and_a_secret_in_it_does_not():
    text = BENIGN["rows as minified JSON"](18_000)
    for hidden in (CARD, "ada@example.com", "YWRhQGV4YW1wbGUuY29t", "ada%40example.com"):
        whole = f'{text[:-1]},{{"to":"{hidden}","v":1}}]'
        for size in (29, 1_000):
            got = "".join(stream_of(in_pieces(whole, size)))
            assert hidden not in got and got.startswith(text[:-1])
            assert got == GUARD.text(whole, timeout=60)


def test_quotes_split_a_word_of_which_the_beginning_has_left_the_stream():
    signs = set("vwxy{|}~")  # by which a word is known to be no encoding as a whole
    letters = (f"{a}{b}" for a in string.ascii_letters for b in string.ascii_letters)
    forms = (f"ab{each}a@{each}{each}.{each}a" for each in letters)
    several = (base64.b85encode(each.encode()).decode() for each in forms)
    hidden = next(each for each in several if signs.isdisjoint(each) and '"' not in each)
    whole = f'["v{{","{hidden}"]'
    assert hidden not in GUARD.text(whole)
    for size in range(1, len(whole)):
        assert "".join(stream_of(in_pieces(whole, size))) == GUARD.text(whole)


def test_a_stream_ends_where_there_is_no_time_to_look_through_it():
    hostile = HOSTILE["cards that are none"](15_000)
    slow = redact(timeout=0.002, hook="model_stream")
    got = []
    with pytest.raises(TimeoutError):
        got.extend(stream_of(["before ", *in_pieces(hostile, 5_000), "x"], slow))
    assert "4" not in "".join(got)


def test_each_item_brings_some_time_with_it(clock):
    clock.step = 0.0002
    allowance = _deadline.Allowance(0.5)
    for _ in range(5_000):
        allowance.add("text")
        with allowance.deadline() as deadline:
            deadline.left()
    clock.step = 0.01
    with pytest.raises(TimeoutError):
        for _ in range(5_000):
            allowance.add("text")
            with allowance.deadline() as deadline:
                deadline.left()


@pytest.mark.parametrize("wrong", [0, -1, True, None, "1", float("inf"), float("nan")])
@pytest.mark.parametrize("make", [redact, quarantine])
def test_a_timeout_that_is_none_is_refused(make, wrong):
    with pytest.raises(HookError, match="timeout="):
        make(timeout=wrong)


@pytest.mark.parametrize("make", [lambda p: redact(patterns=p), lambda p: Bus().redact(patterns=p)])
def test_a_pattern_that_is_refused_is_not_shown(make):
    with pytest.raises(HookError, match=r"patterns.*\[1\].* is (no|not a valid) pattern") as error:
        make(["fine", "hunter2("])
    assert "hunter2" not in str(error.value)
