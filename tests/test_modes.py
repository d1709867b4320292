"""A mode says how the answers to a question become one: those there are, the rules of merge, modes
made of others, and modes of one's own.
"""

import asyncio
from collections import Counter, UserDict
from functools import partial

import pytest

from hookbus import Block, Bus, Drop, HookBlocked, HookError, Replace, explain, hookspec, modes
from hookbus._merging import merging as _modes
from hookbus.events import Failed, Finished
from hookbus.testing import record


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def declare(bus):
    """Declare a question with a mode, answered by these values in order, and note who is asked."""

    def declare(mode, *values, is_async=False, **options):
        asked = []
        if is_async:

            async def question(x=0): ...
        else:

            def question(x=0): ...

        spec = hookspec(mode, bus=bus, name="question", **options)(question)
        for number, value in enumerate(values):
            spec.connect(partial(answer, value, number, asked), name=f"r{number}")
        spec.asked = asked
        return spec

    def answer(value, number, asked):
        asked.append(number)
        if isinstance(value, type) and issubclass(value, BaseException):
            raise value("broken")
        return value

    return declare


def failures(bus, call):
    with record(bus) as fired:
        result = call()
    return result, [(event.receiver, str(event.exception)) for event in fired.of(Failed)]


# -- void, broadcast, firstresult ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "values", "result", "asked"),
    [
        (modes.void, [1, None, 2], None, [0, 1, 2]),
        (modes.void, [], None, []),
        (modes.broadcast, [1, None, 0, "", 2], [1, 0, "", 2], [0, 1, 2, 3, 4]),
        (modes.broadcast, [ValueError, 2], [2], [0, 1]),
        (modes.broadcast, [], [], []),
        (modes.firstresult, [None, 0, 2], 0, [0, 1]),
        (modes.firstresult, [ValueError, 2, 3], 2, [0, 1]),
        (modes.firstresult, [None, None], None, [0, 1]),
        (modes.firstresult, [], None, []),
        (modes.merge(a="last"), [{"a": 1}, None, {"a": 2}], {"a": 2}, [0, 1, 2]),
        (modes.merge(a="last"), [], {}, []),
        (sum, [1, None, 2], 3, [0, 1, 2]),
        (any, [0, 1, 0], True, [0, 1, 2]),
        (sorted, [3, 1], [1, 3], [0, 1]),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_what_each_mode_makes_of_the_answers_and_whom_it_asks(
    declare, mode, values, result, asked, is_async
):
    question = declare(mode, *values, is_async=is_async)
    found = await question() if is_async else question()
    assert found == result and question.asked == asked


async def test_void_lets_async_receivers_run_side_by_side_and_waits_for_all(declare):
    question, arrived = declare(modes.void, is_async=True), asyncio.Barrier(3)
    for name in "abc":
        question.connect(lambda: arrived.wait(), name=name)
    await asyncio.wait_for(question(), 10)
    assert not arrived.broken


def test_a_block_is_a_verdict_and_never_data(declare):
    question = declare(modes.broadcast, 1, Block("no"), 3)
    with pytest.raises(HookBlocked, match="question was blocked by r1: no"):
        question()
    assert question.asked == [0, 1]


def test_a_block_with_a_result_gives_that(declare):
    assert declare(modes.firstresult, None, Block("no", result="instead"), 3)() == "instead"


def test_void_decides_nothing_so_a_block_of_one_is_misuse_and_the_others_are_asked(bus, declare):
    question = declare(modes.void, Block("no"), 2)
    _, failed = failures(bus, question)
    assert question.asked == [0, 1]
    assert [name for name, _ in failed] == ["r0"]


@pytest.mark.parametrize("verdict", [Replace(1), Drop()])
def test_other_verdicts_are_no_answers(bus, declare, verdict):
    result, failed = failures(bus, declare(modes.broadcast, verdict, 2))
    assert result == [2]
    assert "a question does not take Replace or Drop" in failed[0][1]


# -- merge -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "values", "merged"),
    [
        ("last", [1, 2, 3], 3),
        ("first", [1, 2, 3], 1),
        ("concat", [[1], [2], [3]], [1, 2, 3]),
        ("concat", ["a", "b"], "ab"),
        ("concat", [(1,), (2,)], (1, 2)),
        ("update", [{"p": 1, "q": 1}, {"q": 2}], {"p": 1, "q": 2}),
        ("intersect", [["c", "a", "b"], ("b", "c", "z")], ["c", "b"]),
        ("intersect", [{"a", "b"}, ["b"]], {"b"}),
        ("intersect", [("a", "b"), {"b"}], ("b",)),
        (modes.rules.last, [1, 2], 2),
        (max, [1, 3, 2], 3),
        (lambda earlier, later: f"{earlier}\n\n{later}", ["one", "two"], "one\n\ntwo"),
    ],
)
def test_each_rule_joins_the_values_of_its_key_in_the_order_asked(declare, rule, values, merged):
    question = declare(modes.merge(key=rule), *({"key": value} for value in values))
    assert question() == {"key": merged}
    assert question.asked == list(range(len(values)))


def test_keys_have_rules_of_their_own_and_the_rest_may_have_one(declare):
    answers = [{"a": 1, "b": 1, "other": 1}, {"b": 2, "other": 2}]
    assert declare(modes.merge("first", a="last", b="last"), *answers)() == {
        "a": 1, "b": 2, "other": 1,
    }  # fmt: skip


def test_none_says_nothing(declare):
    assert declare(
        modes.merge(a="last", b="first"), {"a": 1, "b": None}, {"a": None, "b": 2}
    )() == {"a": 1, "b": 2}


def test_merging_changes_nobodys_answer(declare):
    first, second = {"items": [1], "env": {"a": 1}}, {"items": [2], "env": {"a": 2}}
    declare(modes.merge(items="concat", env="update"), first, second)()
    assert (first, second) == ({"items": [1], "env": {"a": 1}}, {"items": [2], "env": {"a": 2}})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (["a"], "a list cannot be merged: return a mapping of items, tools, env"),
        ({"itms": [3]}, "merge has no rule for 'itms'; did you mean 'items'"),
        ({"items": 3}, "concat of 'items' takes a list, not a int"),
        ({"items": "text"}, "concat of 'items' takes a list, not a str"),
        ({"env": [1]}, "update of 'env' takes a Mapping, not a list"),
        ({"env": {"x": 1}, "items": 3}, "concat of 'items' takes a list"),
    ],
)
def test_an_answer_its_rule_cannot_take_is_that_receivers_failure_and_none_of_it_is_taken(
    bus, declare, answer, says
):
    merge = modes.merge(items="concat", tools="intersect", env="update")
    question = declare(merge, {"items": [1]}, answer, {"items": [2]})
    result, failed = failures(bus, question)
    assert result == {"items": [1, 2]}
    [(name, text)] = failed
    assert name == "r1" and says in text and __file__ in text


@pytest.mark.parametrize("mistake", [{"tools": "bash"}, {"tools": 3}, {"tools": 3, "oops": 1}])
def test_a_mistake_never_widens_what_was_to_be_narrowed(bus, declare, mistake):
    result, failed = failures(
        bus, declare(modes.merge(tools="intersect"), {"tools": ["read", "bash"]}, mistake)
    )
    assert result == {"tools": []} and [name for name, _ in failed] == ["r1"]


def test_a_refused_answer_still_narrows_as_it_said(bus, declare):
    result, failed = failures(
        bus,
        declare(modes.merge(tools="intersect"), {"tools": ["a", "b"]}, {"tools": ["b"], "oops": 1}),
    )
    assert result == {"tools": ["b"]} and len(failed) == 1


def test_a_mapping_that_cannot_be_read_is_its_receivers_failure(bus, declare):
    class Unreadable(UserDict):
        def __getitem__(self, key):
            raise LookupError(key)

    result, failed = failures(
        bus, declare(modes.merge("last"), {"a": 1}, Unreadable(a=2), {"b": 3})
    )
    assert result == {"a": 1, "b": 3}
    assert failed[0][0] == "r1" and failed[0][1].endswith(
        "which the mode rejects: the answer could not be read: LookupError"
    )


def test_a_rule_of_ones_own_that_fails_is_told_with_the_receiver_whose_answer_it_was(bus, declare):
    result, failed = failures(
        bus, declare(modes.merge(n=lambda a, b: a + b), {"n": 1}, {"n": "x"}, {"n": 2})
    )
    assert result == {"n": 3}
    assert failed[0][0] == "r1" and "rule for 'n' failed on the answer: TypeError" in failed[0][1]


@pytest.mark.parametrize(
    ("rule", "hint"),
    [("lst", "did you mean 'last'"), (3, "available: last"), (None, "available: last")],
)
def test_a_rule_that_is_none_is_refused_when_declared(rule, hint):
    with pytest.raises(HookError, match=f"merge has no rule .* for a.*{hint}"):
        modes.merge(a=rule)


def test_explain_names_the_rules(declare):
    question = declare(modes.merge("last", tools="intersect", text=modes.rules.concat))
    assert (
        explain(question).title
        == "question, a question (sync, merge(last, tools=intersect, text=concat))"
    )


# -- a mode of one's own ---------------------------------------------------------------------------


def majority(answers):
    [(answer, _)] = Counter(answers).most_common(1)
    return answer


def two_agree(receivers):
    seen = set()
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value in seen:
            return answer.value, answer.receiver
        if answer.value is not None:
            seen.add(answer.value)


def test_a_function_of_all_answers_is_a_mode(declare):
    assert declare(majority, "b", "a", None, ValueError, "a")() == "a"


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_generator_function_that_says_whom_to_ask_is_a_mode(declare, is_async):
    question = declare(two_agree, None, "a", "b", ValueError, "a", "c", is_async=is_async)
    found = await question() if is_async else question()
    assert found == ("a", "r4") and question.asked == [0, 1, 2, 3, 4]


async def test_a_mode_may_ask_several_side_by_side(declare):
    def all_at_once(receivers):
        return [answer.value for answer in (yield receivers)]

    question, arrived = declare(all_at_once, is_async=True), asyncio.Barrier(2)
    question.connect(lambda: arrived.wait(), name="a")
    question.connect(lambda: arrived.wait(), name="b")
    assert sorted(await asyncio.wait_for(question(), 10)) == [0, 1]


def test_a_block_of_one_that_is_asked_twice_side_by_side_stands(declare):
    def mode(receivers):
        return (yield [*receivers, *receivers])

    verdicts = iter([Block("no"), None])
    question = declare(mode)
    question.connect(lambda: next(verdicts))
    with pytest.raises(HookBlocked):
        question()


def test_a_mode_may_refuse_an_answer(bus, declare):
    def numbers(receivers):
        total = 0
        for receiver in receivers:
            [answer] = yield [receiver]
            if isinstance(answer.value, int):
                total += answer.value
            elif answer.value is not None:
                yield modes.Reject(answer, "answer with a number")
        return total

    question = declare(numbers, 1, "two", 3)
    result, failed = failures(bus, question)
    assert result == 4
    assert failed[0][0] == "r1" and failed[0][1].endswith(
        "which the mode rejects: answer with a number"
    )
    assert [a.value for a in question.ask().answers] == [1, 3] and len(question.ask().failures) == 1


def test_what_a_mode_raises_goes_to_who_asked_and_may_be_rescued_by_an_error_receiver(bus, declare):
    question = declare(majority)
    with pytest.raises(ValueError, match="not enough values"):
        question()
    bus.signal("error_question").connect(lambda spec, error: Replace("rescued"))
    assert question() == "rescued"


def ambiguous():
    class Ambiguous:
        def __bool__(self):
            raise ValueError("neither true nor false")

    return Ambiguous()


def takes_nobody():
    yield []


def fails_when_it_is_closed(receivers):
    try:
        yield "nobody"
    finally:
        raise ValueError("while it was closed")


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        (takes_nobody, TypeError),
        (fails_when_it_is_closed, ValueError),
        (modes.with_default(modes.void, lambda: ambiguous() or 1), ValueError),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_wherever_the_mode_or_its_result_fails_the_question_ends_as_calls_do(
    bus, declare, mode, error, is_async
):
    question, seen = declare(mode, 1, is_async=is_async), []
    bus.signal("finally_question").connect(lambda spec, error: seen.append(type(error)))
    with record(bus) as fired, pytest.raises(error):
        answer = question()
        await answer if is_async else None
    assert seen == [error] and [event.outcome for event in fired.of(Finished)] == ["raised"]


async def async_mode(answers):
    return answers


async def async_steps(receivers):
    for receiver in receivers:
        [answer] = yield [receiver]
        if answer.value == "found":
            yield modes.Result(answer.receiver)


@pytest.mark.parametrize("wrong", [async_mode, partial(async_mode)])
def test_a_mode_that_nobody_would_await_is_refused(bus, declare, wrong):
    with pytest.raises(HookError, match="the mode .* is async"):
        declare(wrong, is_async=True)
    assert bus.hook_names() == []


@pytest.mark.parametrize(
    ("values", "result", "asked"),
    [(["no", "found", "late"], "r1", [0, 1]), (["no", None], None, [0, 1]), ([], None, [])],
)
async def test_a_mode_of_an_async_question_may_be_an_async_generator(
    declare, values, result, asked
):
    question = declare(async_steps, *values, is_async=True)
    assert await question() == result and question.asked == asked


class Judge:
    async def __call__(self, receivers, arguments):
        try:
            await asyncio.sleep(0)
            yield modes.Result(arguments["x"])
        finally:
            self.is_closed = True


async def test_an_async_mode_is_closed_when_it_has_a_result(declare):
    judge = Judge()
    assert await declare(judge, is_async=True)(3) == 3 and judge.is_closed


@pytest.mark.parametrize("mode", [async_steps, Judge()])
def test_an_async_mode_of_a_plain_question_is_refused(bus, declare, mode):
    with pytest.raises(HookError, match="question is a plain def, which cannot await it"):
        declare(mode)
    assert bus.hook_names() == []


def test_the_result_of_a_plain_mode_is_what_it_returns(declare):
    def mode(receivers):
        yield modes.Result(1)

    with pytest.raises(HookError, match="it must yield lists of the receivers"):
        declare(mode)()


def with_steps(receivers, arguments):
    answers = yield receivers
    return arguments["x"], [answer.value for answer in answers]


@pytest.mark.parametrize(
    ("mode", "result"),
    [
        (with_steps, (3, [1])),
        (lambda answers, factor=2: answers * factor, [1, 1]),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_mode_that_takes_two_parameters_gets_the_arguments(declare, mode, result, is_async):
    question = declare(mode, 1, is_async=is_async)
    assert (await question(3) if is_async else question(3)) == result


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_mode_may_ask_with_other_arguments_than_it_was_asked_with(declare, is_async):
    def doubling(receivers, arguments):
        x, found = arguments["x"], []
        for receiver in receivers:
            [answer] = yield [receiver], {"x": x}
            found.append(answer.value)
            x *= 2
        return found

    question = declare(doubling, is_async=is_async)
    for name in "abc":
        question.connect(lambda x: x + 1, name=name)
    assert (await question(3) if is_async else question(3)) == [4, 7, 13]


@pytest.mark.parametrize("changed", [{"y": 1}, {1: 2}])
def test_a_mode_that_changes_what_is_no_argument_is_told_so(declare, changed):
    def mode(receivers):
        yield receivers, changed

    with pytest.raises(HookError, match="there is no argument"):
        declare(mode, 1)()


def test_who_was_not_asked_is_told_from_who_had_nothing_to_say(declare):
    def who(receivers):
        answers = yield receivers
        return [(answer.asked, answer.value) for answer in answers]

    question = declare(who, None)
    question.connect(lambda x: 1, name="never", when=lambda x: False)
    question.connect(lambda x: 2, name="once", once=True)
    assert question() == [(True, None), (False, None), (True, 2)]
    assert question() == [(True, None), (False, None)]


@pytest.mark.parametrize(
    "rule", [modes.merge, modes.fold, modes.unique, modes.with_default, *_modes.RULES.values()]
)
def test_a_rule_and_merge_without_rules_are_no_modes(bus, declare, rule):
    with pytest.raises(
        HookError, match=f"{rule.__name__} is not a mode: write modes.merge.*, or modes.firstresult"
    ):
        declare(rule)
    assert bus.hook_names() == []


@pytest.mark.parametrize("wrong", ["r0", 3, [3], modes.Reject(modes.Answer("r9", "?"), "no")])
def test_a_mode_that_yields_nonsense_is_told_so(declare, wrong):
    def mode(receivers):
        yield wrong

    with pytest.raises(HookError, match="the mode of question"):
        declare(mode, 1)()


def test_a_mode_sees_name_place_and_priority_of_who_may_be_asked(declare):
    def who(receivers):
        return [(receiver.name, receiver.priority) for receiver in receivers]
        yield

    question = declare(who, 1)
    question.connect(lambda: 2, name="late", priority=3)
    assert question() == [("late", 3), ("r0", 0)] and question.asked == []


# -- modes made of others --------------------------------------------------------------------------


def fallback(x):
    return f"fallback {x}"


@pytest.mark.parametrize(
    ("mode", "values", "result"),
    [
        (modes.firstresult, [None], "fallback 7"),
        (modes.firstresult, [], "fallback 7"),
        (modes.firstresult, [ValueError], "fallback 7"),
        (modes.firstresult, [0], 0),
        (modes.firstresult, ["", 2], ""),
        (modes.firstresult, [None, 2], 2),
        (modes.broadcast, [None], "fallback 7"),
        (modes.broadcast, [[]], [[]]),
        (modes.merge("last"), [{}], "fallback 7"),
        (sum, [], 0),
        (modes.void, [1], "fallback 7"),
        (modes.with_default(modes.firstresult, lambda: None), [None], "fallback 7"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_otherwise_answers_where_nobody_did(declare, mode, values, result, is_async):
    question = declare(modes.with_default(mode, fallback), *values, is_async=is_async)
    assert (await question(7) if is_async else question(7)) == result
    asked = question.ask(7)
    assert (await asked if is_async else asked).result == result


async def test_an_async_fallback_is_awaited_and_none_of_a_plain_question(declare):
    async def fallback():
        return "awaited"

    mode = modes.with_default(modes.firstresult, fallback)
    question = declare(mode, is_async=True)
    assert await question() == "awaited"
    question.retire()
    with pytest.raises(HookError, match="returned an awaitable, but the hook is a plain def"):
        declare(mode)()


def test_a_fallback_is_the_hosts_own_and_what_it_raises_goes_out(declare):
    with pytest.raises(ZeroDivisionError):
        declare(modes.with_default(modes.firstresult, lambda x: 1 / x))(0)


def test_a_fallback_keeps_its_own_defaults(declare):
    assert declare(modes.with_default(modes.firstresult, lambda x=1, y=2: (x, y)))(7) == (7, 2)


@pytest.mark.parametrize(
    ("values", "result"),
    [
        (["apple", "bee", "ant"], ["apple", "bee"]),
        ([["apple", "bee"], ["ant", "cat", "cow"], "bug"], [["apple", "bee"], ["cat"]]),
        ([("apple", "ant"), None], [("apple",)]),
        ([["apple"], ["ant"]], [["apple"]]),
    ],
)
def test_unique_leaves_out_answers_and_items_of_answers_whose_key_came_before(
    declare, values, result
):
    question = declare(modes.unique(lambda word: word[0]), *values)
    assert question() == result
    assert question() == result, "each time anew"


def test_a_key_that_fails_is_told_with_the_receiver_whose_answer_it_was(bus, declare):
    question = declare(modes.unique(lambda word: word[0]), "a", 3, "b")
    result, failed = failures(bus, question)
    assert result == ["a", "b"] and [name for name, _ in failed] == ["r1"]
    asked = question.ask()
    assert [a.value for a in asked.answers] == ["a", "b"]
    assert [a.receiver for a in asked.failures] == ["r1"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_fold_hands_each_receiver_what_the_one_before_answered(declare, is_async):
    question = declare(modes.fold("x"), is_async=is_async)
    question.connect(lambda x: [*x, "a"], name="a")
    question.connect(lambda x: None, name="nothing to say")
    question.connect(lambda x: x[5], name="fails")
    question.connect(lambda x: [*x, len(x)], name="b")
    assert (await question([1]) if is_async else question([1])) == [1, "a", 2]
    asked = await question.ask([1]) if is_async else question.ask([1])
    assert asked.result == [1, "a", 2], "ask leads the mode, too"
    assert [each.value for each in asked.answers] == [[1, "a"], None, [1, "a", 2]]
    assert [each.receiver for each in asked.failures] == ["fails"]


def test_fold_without_receivers_gives_the_argument(declare):
    assert declare(modes.fold("x"))(3) == 3


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        (lambda: lambda answers, arguments: 1, "takes one parameter"),
        (lambda: modes.with_default(modes.firstresult, 3), "with_default cannot take"),
        (lambda: modes.with_default(async_steps, fallback), "where the mode is a plain def"),
        (lambda: modes.with_default(3, fallback), "3 is not a mode"),
        (lambda: modes.with_default(modes.void, lambda xx: 1), "argument 'xx'.*did you mean 'x'"),
        (lambda: modes.with_default(modes.fold("y"), fallback), "the argument 'y', which question"),
        (lambda: modes.fold("y"), "the mode fold\\('y'\\) needs the argument 'y'"),
    ],
)
def test_what_cannot_be_is_refused_when_declared(bus, declare, mode, says):
    with pytest.raises(HookError, match=says):
        declare(mode())
    assert bus.hook_names() == []


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        (modes.unique(len), "unique(len)"),
        (modes.fold("x"), "fold('x')"),
        (modes.with_default(modes.merge("last"), fallback), "with_default(merge(last))"),
        (sum, "sum"),
    ],
)
def test_explain_names_the_mode(declare, mode, name):
    assert explain(declare(mode)).title == f"question, a question (sync, {name})"
