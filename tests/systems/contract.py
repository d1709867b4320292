"""The contract of every adapter. Each adapter's tests subclass `AdapterContract`, or
`InstalledContract` for a real package.

A subclass describes its system: the hook of a plain call (`hook`, and the name of the `argument`
with a string), how it is put on a bus (`put_on`), and how something hooked is made and called
(`subject`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from hookbus import Block, Bus, HookError, explain
from hookbus.events import Failed, Finished, Mutated, Started
from hookbus.testing import record

Own = tuple[str, Callable[[str], str]]
"""The name of a hook registered in the system's own way, and how it changes the text before the
call."""


class Subject(NamedTuple):
    """Something of the system that is hooked.

    Attributes:
        call: call it as the system's users do, with a text; return what they get, or let out what
            they see raised.
        hookable: what `explain` takes.
    """

    call: Callable[[str], Any]
    hookable: Any


class AdapterContract:
    """Order, block, mutate, error, and that events and `explain` see every call."""

    hook: str
    argument: str

    def put_on(self, bus: Bus) -> Callable[[], None]:
        """Put the system on a bus and return what undoes it."""
        raise NotImplementedError

    def subject(self, bus: Bus, body: Callable[[str], str], own: Sequence[Own] = ()) -> Subject:
        """Make something of the system on this bus that runs `body` when called, with hooks of the
        system's own kind."""
        raise NotImplementedError

    def order(self, *, high: str, own: str, low: str) -> list[str]:
        """Return the order of a pre receiver of high priority, a hook of the system's own and a pre
        receiver of low priority."""
        return [high, own, low]

    def rows(self, subject: Subject) -> Sequence[Any]:
        """Return what `explain` lists of a call, in the order it runs; of a system whose call is
        several hooks, of all."""
        return explain(subject.hookable)

    def told(self, subject: Subject, text: str) -> str:
        """Return what the system tells its user about a call that was blocked or failed."""
        try:
            return str(subject.call(text))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    @pytest.fixture
    def bus(self):
        bus = Bus(values=True)
        undo = self.put_on(bus)
        yield bus
        undo()

    # -- order -------------------------------------------------------------------------------------

    def test_receivers_and_the_systems_own_hooks_run_in_one_order(self, bus):
        add = {word: self.adding(word) for word in ("low", "high")}
        bus.signal(f"pre_{self.hook}").connect(add["low"], name="low", priority=-10)
        bus.signal(f"pre_{self.hook}").connect(add["high"], name="high", priority=10)
        bodies = []
        subject = self.subject(
            bus, lambda text: bodies.append(text) or text, [("own", lambda text: f"{text} own")]
        )
        subject.call("start")
        assert bodies == [" ".join(["start", *self.order(high="high", own="own", low="low")])]

    def test_explain_lists_the_systems_own_hooks_in_the_order_they_run(self, bus):
        bus.signal(f"pre_{self.hook}").connect(self.adding("low"), name="low", priority=-10)
        bus.signal(f"pre_{self.hook}").connect(self.adding("high"), name="high", priority=10)
        subject = self.subject(bus, lambda text: text, [("own", lambda text: f"{text} own")])
        subject.call("start")
        listed = [row.receiver for row in self.rows(subject)]
        assert [name for name in listed if name in ("high", "own", "low")] == self.order(
            high="high", own="own", low="low"
        )

    # -- block -------------------------------------------------------------------------------------

    def test_a_guard_stops_the_call_and_says_why(self, bus):
        bus.signal(f"pre_{self.hook}").connect(
            self.asking(lambda text: Block("not this one")), role="guard", name="no"
        )
        bodies = []
        subject = self.subject(bus, lambda text: bodies.append(text) or text)
        with record(bus) as fired:
            assert "not this one" in self.told(subject, "start")
        assert bodies == []
        assert fired.blocked_by("no")[0].reason == "not this one"

    def test_a_guard_sees_what_the_systems_own_hooks_made_of_the_arguments(self, bus):
        seen = []
        bus.signal(f"pre_{self.hook}").connect(
            self.asking(lambda text: seen.append(text)), role="guard", name="look"
        )
        subject = self.subject(bus, lambda text: text, [("own", lambda text: f"{text} own")])
        subject.call("start")
        assert seen[-1] == "start own"

    def test_a_guard_that_breaks_closes(self, bus):
        def broken(text):
            raise LookupError("the policy file is gone")

        bus.signal(f"pre_{self.hook}").connect(self.asking(broken), role="guard", name="broken")
        bodies = []
        subject = self.subject(bus, lambda text: bodies.append(text) or text)
        told = self.told(subject, "start")
        assert bodies == [] and "LookupError" in told and "policy file" not in told

    # -- mutate ------------------------------------------------------------------------------------

    def test_a_modifier_changes_what_the_body_gets_and_its_event_says_so(self, bus):
        bus.signal(f"pre_{self.hook}").connect(self.adding("patched"), name="patch")
        bodies = []
        subject = self.subject(bus, lambda text: bodies.append(text) or text)
        with record(bus) as fired:
            subject.call("start")
        assert bodies == ["start patched"]
        assert [event.name for event in fired.of(Mutated) if event.receiver == "patch"] == [
            self.argument
        ]

    # -- error -------------------------------------------------------------------------------------

    def test_a_failing_observer_hurts_nobody(self, bus):
        def broken(sender, ctx):
            raise LookupError("the log is full")

        subject = self.subject(bus, lambda text: f"re: {text}")
        expected = str(subject.call("start"))
        bus.signal(f"post_{self.hook}").connect(broken, role="observe", name="broken")
        with record(bus) as fired:
            assert str(subject.call("start")) == expected
        assert [(event.receiver, event.action) for event in fired.of(Failed)] == [
            ("broken", "isolated")
        ]

    def test_an_exception_of_the_body_is_told_and_reaches_the_user_as_without_hooks(self, bus):
        def body(text):
            raise LookupError(f"no {text} here")

        plain = self.told(self.subject(bus, body), "start")
        seen = []
        bus.signal(f"error_{self.hook}").connect(
            lambda sender, error: seen.append(error), role="observe", name="look"
        )
        subject = self.subject(bus, body)
        assert self.told(subject, "start") == plain
        assert [str(error) for error in seen] == [str(LookupError("no start here"))]

    # -- events and explain ------------------------------------------------------------------------

    def test_events_tell_every_call_once(self, bus):
        subject = self.subject(bus, lambda text: text)
        with record(bus) as fired:
            for _ in range(3):
                subject.call("start")
        assert [event.hook for event in fired.of(Started)].count(self.hook) == 3
        assert [event.outcome for event in fired.of(Finished) if event.hook == self.hook] == [
            "returned"
        ] * 3

    # -- receivers for the tests -------------------------------------------------------------------

    def text_in(self, kwargs: Mapping[str, Any]) -> str:
        """Return the text in the arguments of a call."""
        return str(kwargs[self.argument])

    def with_text(self, kwargs: Mapping[str, Any], text: str) -> dict[str, Any]:
        """Return the patch that puts another text into the arguments of a call."""
        return {self.argument: text}

    def adding(self, word: str) -> Callable[..., Any]:
        return lambda sender, ctx: self.with_text(ctx.kwargs, f"{self.text_in(ctx.kwargs)} {word}")

    def asking(self, policy: Callable[[str], Any]) -> Callable[..., Any]:
        return lambda sender, ctx: policy(self.text_in(ctx.kwargs))


class InstalledContract(AdapterContract):
    """Besides: a real package is taken over and given back, attribute for attribute.

    A subclass names the package as it is installed, the module it is imported as, and the adapter's
    `install`.
    """

    package: str
    module: str

    def install(self, bus: Bus, **options: Any) -> Callable[[], None]:
        raise NotImplementedError

    def put_on(self, bus: Bus) -> Callable[[], None]:
        return self.install(bus)

    def test_uninstall_leaves_no_trace(self):
        bus = Bus()
        self.subject(bus, lambda text: text).call("loads what is loaded late")
        before = attributes_of(self.module)
        uninstall = self.install(bus)
        try:
            assert changes(before, attributes_of(self.module)) != []
            self.subject(bus, lambda text: text, [("own", str.upper)]).call("start")
        finally:
            uninstall()
        assert changes(before, attributes_of(self.module)) == []
        assert bus.hook_names() == []
        assert [signal.name for signal in bus.signals() if signal.connections()] == []

    def test_a_call_is_the_same_before_during_and_after(self):
        def results():
            subject = self.subject(
                bus, lambda text: f"re: {text}", [("own", lambda text: f"{text} own")]
            )
            return str(subject.call("start")), str(subject.call("again"))

        bus = Bus()
        before = results()
        uninstall = self.install(bus)
        during = results()
        uninstall()
        assert before == during == results()

    def test_after_uninstall_receivers_are_not_asked(self):
        bus = Bus()
        heard = []
        bus.signal(f"pre_{self.hook}").connect(
            lambda sender, ctx: heard.append(1), role="observe", name="hear"
        )
        uninstall = self.install(bus)
        during = self.subject(bus, lambda text: text)
        during.call("start")
        uninstall()
        during.call("start")
        self.subject(bus, lambda text: text).call("start")
        assert heard == [1]

    def test_uninstalling_twice_is_once_and_installing_again_works(self):
        bus = Bus()
        for _ in range(2):
            uninstall = self.install(bus)
            with record(bus) as fired:
                self.subject(bus, lambda text: text).call("start")
            assert fired.count(self.hook) == 1
            uninstall()
            uninstall()

    def test_installing_twice_is_refused(self):
        uninstall = self.install(Bus())
        try:
            between = attributes_of(self.module)
            with pytest.raises(HookError, match=f"{self.package} already runs on hookbus"):
                self.install(Bus())
            assert changes(between, attributes_of(self.module)) == []
        finally:
            uninstall()

    def test_a_version_it_does_not_know_is_refused_by_naming_those_it_does(self, monkeypatch):
        installed = metadata.version(self.package)
        before = attributes_of(self.module)
        monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
        with pytest.raises(HookError, match=f"{self.package} 0.0.1 is installed") as refused:
            self.install(Bus())
        assert installed in str(refused.value)
        assert changes(before, attributes_of(self.module)) == []


def attributes_of(package: str) -> dict[tuple[str, ...], list[tuple[str, Any]]]:
    """Return every attribute of every module and class of a package, in order; containers with what
    they hold."""
    found: dict[tuple[str, ...], list[tuple[str, Any]]] = {}
    for module_name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and f"{module_name}.".startswith(f"{package}."):
            found[(module_name,)] = _attributes(module)
            for name, cls in list(vars(module).items()):
                if isinstance(cls, type) and f"{cls.__module__}.".startswith(f"{package}."):
                    found[(module_name, name)] = _attributes(cls)
    return found


_NOT_ATTRIBUTES = {
    "__builtins__", "__abstractmethods__", "_abc_impl", "__warningregistry__",
    "__pydantic_setattr_handlers__",
}  # fmt: skip


def _attributes(owner: Any) -> list[tuple[str, Any]]:
    return [
        (name, (value, _held(value)))
        for name, value in list(vars(owner).items())
        if name not in _NOT_ATTRIBUTES
    ]


def _held(value: Any) -> Any:
    if isinstance(value, dict):
        return [(id(key), id(held)) for key, held in value.items()]
    return [id(held) for held in value] if isinstance(value, (list, tuple)) else None


def changes(
    before: Mapping[Any, list[tuple[str, Any]]], after: Mapping[Any, list[tuple[str, Any]]]
) -> list[str]:
    """Name what is not the very same object, in the same place, as before. A module loaded since is
    no change."""
    found = []
    for owner, attributes in before.items():
        others = after.get(owner, [])
        if [name for name, _ in attributes] != [name for name, _ in others]:
            found.append(f"{'.'.join(owner)}: names or their order")
        now = dict(others)
        for name, (value, held) in attributes:
            if name in now and (now[name][0] is not value or now[name][1] != held):
                found.append(f"{'.'.join(owner)}.{name}")
    return found
