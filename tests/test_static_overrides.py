"""Overrides of hookable static methods: guarded where they are hookable, and named where not."""

import sys
import warnings

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, hook_overrides, hookable, report


@pytest.fixture
def bus():
    return Bus()


def base_of(bus, **options):
    class Base:
        @staticmethod
        @hookable("send", bus=bus, **options)
        def send(to):
            return f"sent to {to}"

    return Base


def no(_):
    return Block("no")


def explicit(bus, Base):
    class Child(Base):
        @hookable("send", bus=bus)
        @staticmethod
        def send(to):
            return "past"

    return Child


def by_decorator(bus, Base):
    class Child(hook_overrides(Base)):
        @staticmethod
        def send(to):
            return "past"

    return Child


def of_a_subclass(bus, Base):
    class Between(hook_overrides(Base)):
        pass

    class Child(Between):
        @staticmethod
        def send(to):
            return "past"

    return Child


def as_a_method(bus, Base):
    class Child(hook_overrides(Base)):
        def send(self, to="me"):
            return "past"

    return Child()


def as_a_classmethod(bus, Base):
    class Child(hook_overrides(Base)):
        @classmethod
        def send(cls, to):
            return "past"

    return Child


def of_a_function_from_elsewhere(bus, Base):
    def past(to):
        return "past"

    class Child(hook_overrides(Base)):
        send = staticmethod(past)

    return Child


STATIC = [explicit, by_decorator, of_a_subclass, of_a_function_from_elsewhere]
CHILDREN = [*STATIC, as_a_method, as_a_classmethod]


@pytest.mark.parametrize("child", CHILDREN)
def test_a_guard_of_a_static_method_guards_hookable_overrides_of_it(bus, child):
    Base = base_of(bus)
    Child = child(bus, Base)
    assert Child.send("eve") == "past"
    bus.signal("pre_send").connect(no, sender=Base.send, role="guard")
    for call in (Child.send, Base.send):
        with pytest.raises(HookBlocked):
            call("eve")
    bus.require_guard("send")
    is_static = isinstance(Child, type) and child in STATIC
    bus.require_guard("send", sender=Child.send if is_static else Child)
    assert not [each for each in report(bus).findings if "not hooked" in each]


@pytest.mark.parametrize("child", CHILDREN)
def test_an_override_of_a_static_method_that_is_guarded_is_guarded(bus, child):
    Child = child(bus, base_of(bus, require_guard=True))
    with pytest.raises(HookBlocked, match="no guard covers this call"):
        Child.send("eve")


KINDS = {"plain": lambda function: function, "class": classmethod, "static": staticmethod}


@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize("below", KINDS)
@pytest.mark.parametrize("above", KINDS)
def test_an_override_of_another_kind_of_method_is_guarded_alike(bus, above, below, is_guarded):
    class Base:
        send = KINDS[above](hookable("send", bus=bus, require_guard=is_guarded)(lambda *_: "sent"))

    class Child(hook_overrides(Base)):
        send = KINDS[below](lambda *_: "past")

    if not is_guarded:
        sender = Base.send if above == "static" else Base
        bus.signal("pre_send").connect(no, sender=sender, role="guard")
        bus.require_guard("send")
    with pytest.raises(HookBlocked):
        Child().send("eve")


def test_a_static_override_of_a_method_is_guarded_by_the_guards_of_the_class(bus):
    class Base:
        @hookable("send", bus=bus, require_guard=True)
        def send(self, to):
            return "sent"

    class Child(hook_overrides(Base)):
        @staticmethod
        def send(to):
            return "past"

    with pytest.raises(HookBlocked, match="no guard covers this call"):
        Child.send("eve")
    bus.signal("pre_send").connect(lambda _: None, sender=Base, role="guard")
    assert Child.send("ada") == "past"
    bus.signal("pre_send").connect(no, sender=Base, role="guard")
    with pytest.raises(HookBlocked):
        Child.send("eve")


def test_a_static_override_that_is_not_hookable_is_named_by_all_who_look(bus):
    Base = base_of(bus)

    class Child(Base):
        @staticmethod
        def send(to):
            return "past"

    named = r"Child\.send, which overrides a hookable: no receiver sees it"
    with pytest.warns(match=named):
        bus.signal("pre_send").connect(no, sender=Base.send, role="guard")
    with pytest.raises(HookError, match=named):
        bus.require_guard("send")
    assert any("Child.send, which overrides" in each for each in report(bus).findings)
    del Child


def test_a_receiver_of_anybody_may_ask_for_the_first_argument_of_a_static_method(bus):
    Base = base_of(bus)
    asked = []
    with warnings.catch_warnings(action="error"):
        bus.signal("pre_send").connect(lambda sender, to: asked.append(to), role="guard")
    assert Base.send("ada") == "sent to ada" and asked == ["ada"]
    assert report(bus).findings == ()
    with pytest.raises(HookError, match="has a parameter 'too', which send does not have"):
        bus.signal("pre_send").connect(lambda sender, too: None)


def test_a_report_searches_the_classes_of_the_program_once_however_much_is_connected():
    def searches(hooks):
        """Count how often a report asks `object` and all classes below it for their subclasses."""
        bus, asked = Bus(), []
        for number in range(hooks):

            class Agent:
                @hookable(f"reply_{number}", bus=bus)
                def reply(self, msg):
                    return msg

            for _ in range(3):
                bus.signal(f"pre_reply_{number}").connect(lambda agent, msg: None)

        def count(frame, event, called):
            if event == "c_call" and called.__name__ == "__subclasses__":
                asked.append(called)

        sys.setprofile(count)
        try:
            report(bus)
        finally:
            sys.setprofile(None)
        return len(asked)

    few, many = searches(1), searches(4)
    assert few > 100
    assert many < few * 1.5
