"""An exception whose class runs code of its own is a failure like any other, in every role."""

import pytest

from hookbus import Bus, HookBlocked, events, hookable, report
from hookbus.exporters.log import Logging

from ._cells import TARGETS
from ._colours import make_agent, take


class Broken(Exception):
    pass


class Sealed(Exception):
    def __getattribute__(self, name):
        raise Broken(name)


class Fixed(Exception):
    def __setattr__(self, name, value):
        raise Broken(name)


class Silent(Exception):
    def __str__(self):
        raise Broken

    __repr__ = __str__

    def __eq__(self, other):
        raise Broken

    def __hash__(self):
        raise Broken

    def add_note(self, note):
        raise SystemExit

    def with_traceback(self, trace):
        raise Broken


class NoName(type):
    def __getattribute__(cls, name):
        raise Broken(name)

    def __hash__(cls):
        raise Broken


class Nameless(Exception, metaclass=NoName):
    pass


class NumberForAName(type):
    __name__ = 7


class Numbered(Exception, metaclass=NumberForAName):
    pass


class Propertied(Exception):
    @property
    def __traceback__(self):
        raise Broken

    __cause__ = __context__ = __notes__ = __dict__ = args = __traceback__


class LikeABlock(HookBlocked):
    @property
    def call_id(self):
        raise Broken

    receiver = hook = reason = args = call_id


class SealedBlock(HookBlocked):
    def __getattribute__(self, name):
        raise Broken(name)


class SealedRecursion(RecursionError):
    def __getattribute__(self, name):
        raise Broken(name)


ODD = {
    "sealed": Sealed, "fixed": Fixed, "silent": Silent, "nameless": Nameless, "numbered": Numbered,
    "propertied": Propertied, "like a block": LikeABlock, "sealed block": SealedBlock,
    "sealed recursion": SealedRecursion,
}  # fmt: skip


def outcome(run):
    """Return what a call gave, or what came out of it; pytest.raises would ask it for more."""
    try:
        return run()
    except BaseException as error:
        return error


@pytest.fixture(params=TARGETS)
def colour(request):
    return request.param


@pytest.mark.parametrize("is_heard", [False, True])
@pytest.mark.parametrize("odd", ODD)
def test_what_an_observer_raises_never_changes_what_the_caller_gets(colour, odd, is_heard):
    kind = ODD[odd]
    bus, told = Bus(), []
    agent = make_agent(bus, colour)
    if is_heard:
        bus.events.connect(lambda bus, event: told.append(event.as_dict()))
        bus.events.connect(Logging())

    def fails(agent):
        raise kind("odd")

    def listener(bus, event):
        raise kind("odd")

    bus.events.connect(listener, kinds=events.Failed if is_heard else events.Mutated)
    for phase in ("pre", "post", "finally"):
        bus.signal(f"{phase}_reply").connect(fails, role="observe")
        bus.signal(f"{phase}_reply").connect(lambda agent: None, role="observe")
    assert outcome(lambda: take(colour, agent, "hi")) == "hi"
    assert "failed open" in str(report(bus))
    if is_heard:
        assert [each["phase"] for each in told if each["event"] == "Failed"] == [
            "pre", "post", "finally",
        ]  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("role", ["modify", "guard", "shadow", "block", "raise", "around", "error"])
def test_what_another_receiver_raises_is_its_failure_by_its_role(colour, odd, role):
    kind = ODD[odd]
    if "async" in colour and role in ("around", "error"):
        pytest.skip("asyncio itself hangs where such an exception goes out of a task")
    bus = Bus()
    agent = make_agent(bus, colour)
    raised = kind("odd")

    def fails(agent):
        raise raised

    def around(agent, call_next):
        raise raised

    if role == "around":
        bus.signal("around_reply").connect(around)
    elif role == "error":
        bus.signal("around_reply").connect(around)
        bus.signal("error_reply").connect(fails)
    else:
        options = {
            "modify": {}, "guard": {"role": "guard"}, "block": {"on_error": "block"},
            "shadow": {"role": "guard", "shadow": True}, "raise": {"on_error": "raise"},
        }[role]  # fmt: skip
        bus.signal("pre_reply").connect(fails, **options)
    got = outcome(lambda: take(colour, agent, "hi"))
    if role in ("modify", "shadow"):
        assert got == "hi"
    elif role in ("guard", "block"):
        assert type(got) is HookBlocked
    elif role == "raise":
        assert type(got).__name__ == "ReceiverError"
    else:
        is_raised = got is raised  # pytest would ask both for their words
        assert is_raised


@pytest.mark.parametrize("odd", ODD)
def test_the_methods_own_odd_exception_goes_out_with_observers_that_fail_oddly(odd):
    kind = ODD[odd]
    bus, own = Bus(), kind("its own")

    @hookable(bus=bus)
    def pay():
        raise own

    def fails(pay):
        raise kind("odd")

    for phase in ("error", "finally"):
        bus.signal(f"{phase}_pay").connect(fails, role="observe")
    got = outcome(pay)
    is_own = got is own
    assert is_own


class NamelessAnswer(metaclass=NoName):
    pass


@pytest.mark.parametrize("is_enforced", [True, False])
@pytest.mark.parametrize("is_unreadable", [True, False])
def test_an_answer_of_an_odd_class_is_a_failure_of_the_guard_that_gives_it(
    colour, is_unreadable, is_enforced
):
    bus, answer = Bus(), NamelessAnswer() if is_unreadable else type("", (), {})()
    agent = make_agent(bus, colour)
    bus.signal("pre_reply").connect(lambda agent: answer, role="guard", shadow=not is_enforced)
    bus.signal("pre_reply").connect(lambda agent: answer, role="observe")
    got = outcome(lambda: take(colour, agent, "hi"))
    assert (type(got) is HookBlocked) if is_enforced else (got == "hi")


def test_a_class_whose_metaclass_raises_disturbs_no_call_of_another_class():
    bus = Bus()

    class Bank:
        @staticmethod
        @hookable("pay", bus=bus)
        def pay(to):
            return to

    bus.signal("pre_pay").connect(lambda pay, to: None, role="guard")
    assert Bank.pay("ada") == "ada"  # whose class is looked for among all, NamelessAnswer too
    assert report(bus).findings == ()
