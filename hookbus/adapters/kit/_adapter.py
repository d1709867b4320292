"""An adapter, described by the functions of its framework that it hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from hookbus import Bus, HookBlocked, HookError, default_bus

from ..._keywords import named_options
from .._asides import Aside
from .._newer import Untested, in_place_of, patches_of
from .._patches import Between, Patches, Uninstall, exceptions
from .._pauses import Pause
from .._runs import hook_runs
from .._seams import Sample
from .._tools import Gate, Read, Refusal, Results
from .._vocabulary import refusal
from ._forms import Form
from ._models import Model
from ._places import find, is_missing, replace
from ._reading import Fields, Reader, Source

if TYPE_CHECKING:
    from hookbus.approvals import Store

Step = Callable[[Gate], Any]

_RUNS: Final[dict[Any, tuple[str, ...]]] = {True: ("agent_stream",), False: ("agent_run",)}
"""The hooks of a method that always streams, or never."""


class Adapter:
    """An adapter for one framework. It imports the framework when it is installed.

        agentlib = Adapter("agentlib", tested=("1.0", "1.4"), refused=lambda refused: refused.text)
        agentlib.tool("agentlib:Tool.run", arguments="arguments")
        uninstall = agentlib.install(bus)

    A path names a function as `"module:function"` or `"module:Class.method"`. A method is hooked in
    its class and in all subclasses, also future ones. A function is hooked in every module of its
    package that imported it.

    Args:
        package: the name under which the framework is installed, as pip knows it.
        tested: the oldest and the newest version that the adapter was tested with.
        refused: from the `Refusal` of a call, returns what the framework gets, or raises. By
            default it raises `HookBlocked`.
        shown: from the framework's result, returns the text or plain data that receivers see; or
            such a pair as `shown_as.pydantic`.
        packed: from the call, the framework's result (None if the tool did not run) and the value
            that replaces it, returns the new result.
        sample: makes one tool of the framework, for the self-test on untested releases; or the
            module that has this function, `sample`, and a list of all seams, `SEAMS`.
    """

    def __init__(
        self, package: str, *, tested: tuple[str, str],
        refused: Callable[[Refusal], Any] | None = None,
        shown: Callable[[Any], Any] | Form | None = None,
        packed: Callable[..., Any] | None = None,
        sample: Callable[[Any], Sample] | str | None = None,
    ) -> None:  # fmt: skip
        stock = Results()
        form = shown if isinstance(shown, Form) else Form(
            shown or stock.shown, packed or stock.packed)  # fmt: skip
        self._results = Results(form.shown, packed or form.packed, refused or stock.refused)
        self._package, self._tested, self._sample = package, Between(*tested), sample
        self._name = sample.rpartition(".")[2] if isinstance(sample, str) else package
        self._steps, self._hooks = list[tuple[str, Step]](), dict[str, None]()
        self._pauses: list[str | type[BaseException]] = []
        self._pause: Pause | None = None

    # -- what is hooked ----------------------------------------------------------------------------

    @named_options
    def tool(
        self, path: str, read: Read | None = None, *, name: Source = "name",
        arguments: str | None = None, kind: str | Callable[[Any], str] = "function",
        caller: Source = None, call_id: Source = None, tool: Source = "self",
        parameters: Callable[[Any], Iterable[str]] | None = None, layer: int = 0,
        stream: bool | None = None, optional: bool = False, if_installed: bool = False,
    ) -> None:  # fmt: skip
        """Make each call of a function a `tool_call`.

        A value of the call is found by a path: a parameter of the function, or else an attribute of
        the tool, such as `"context.call_id"`. A function that takes the arguments by name, as a
        dict, finds any other value.

        Args:
            path: the function.
            read: reads a call in code, if the other arguments cannot describe it. It takes the
                framework's function and the arguments of the call, and returns a `ToolCall` and a
                function that makes the call with changed arguments.
            name: the name of the tool.
            arguments: the parameter that holds the arguments of the tool: a mapping, a pydantic
                model, or JSON. Without it all parameters of the function are the tool's arguments.
            kind: the kind of the tool, or a function that takes the tool and returns it.
            caller: the agent that calls the tool.
            call_id: the framework's id of the call.
            tool: the tool, which is the sender; by default, the object that has the method.
            parameters: from the tool, returns the names of its parameters, if the function itself
                takes any.
            layer: the depth of the function, if a call passes through several hooked ones: higher
                for the inner one. Its hooks run once.
            stream: whether the function yields its result last, after other parts, if it does not
                show that.
            optional: whether the function may be missing, because releases lack it.
            if_installed: whether its package may be missing.
        """
        self.words("tool_call")
        fields = Fields(tool, name, arguments, kind, caller, call_id, parameters)

        def hook(gate: Gate) -> None:
            if (optional or if_installed) and is_missing(
                gate, path, optional=optional, if_installed=if_installed
            ):
                return
            owner, name = find(gate, path)
            is_method = isinstance(owner, type)
            reader = read
            if reader is None:
                stock = gate.patches.look_for(owner, name)
                reader = Reader(stock, fields, is_method=is_method)
            hook_one = gate.seam if is_method else gate.seam_function
            hook_one(owner, name, reader, layer=layer, stream=stream)

        self._steps.append((path, hook))

    @named_options
    def model(
        self, *paths: str, messages: str | None = None, is_async: bool | None = None,
        aside: type[Aside] | None = None,
    ) -> Model:  # fmt: skip
        """Make each call of methods that return a whole answer a `model_call`.

        Args:
            paths: the methods.
            messages: the parameter with the messages; by default, the first one. The others are
                the options.
            is_async: whether they are async, if the functions do not show it.
            aside: holds back the framework's own reports of an answer.

        Returns:
            An object whose `stream` adds methods that return the answer in parts.
        """
        self.words("model_call")
        return Model(self, aside).hooked(paths, "model_call", None, messages, is_async)

    @named_options
    def run(
        self, path: str, *, agent: str | None = None, input: str | None = None,
        stream: str | bool | None = None,
    ) -> None:  # fmt: skip
        """Make each call of a method an `agent_run`, or an `agent_stream` if it yields its parts.

        Args:
            path: the method.
            agent: the parameter or attribute with the agent; by default, the object itself.
            input: the parameter with the input; by default, the first one.
            stream: the parameter that requests a stream, if it has one; or whether the method
                always yields its parts, or never.
        """
        self.words(*_RUNS.get(stream, ("agent_run", "agent_stream")))

        def hook(gate: Gate) -> None:
            cls, name = find(gate, path)
            flag = stream if isinstance(stream, str) else None
            hook_runs(gate.vocabulary, cls, name, agent=agent, input=input, stream=flag)

        self._steps.append((path, hook))

    def wrap(
        self, path: str, *, optional: bool = False, if_installed: bool = False
    ) -> Callable[[Any], Any]:
        """Replace a function: a decorator of the replacement. That takes the gate, the framework's
        function, and the arguments of the call. A call of a tool in it is
        `gate.run(call, body)` or `await gate.run_async(call, body)`.

        Args:
            path: the function.
            optional: whether it may be missing, because releases lack it.
            if_installed: whether its package may be missing.
        """

        def decorate(replacement: Any) -> Any:
            def hook(gate: Gate) -> None:
                if not is_missing(gate, path, optional=optional, if_installed=if_installed):
                    replace(gate, path, replacement)

            self._steps.append((path, hook))
            return replacement

        return decorate

    def also(self, step: Step) -> Step:
        """Have a function do what the other methods cannot: a decorator.

        Args:
            step: the function. It is called when the adapter is installed, with the gate, whose
                `patches` undo what it replaces.
        """
        self._steps.append(("", step))
        return step

    def words(self, *hooks: str) -> None:
        """Declare hooks of the vocabulary that `wrap` and `also` use.

        Args:
            hooks: their names, such as `"agent_run"`.
        """
        self._hooks.update(dict.fromkeys(hooks))

    def pauses(self, *kinds: str | type[BaseException]) -> None:
        """Name the exceptions that return control to the framework: they are not failures of a
        call.

        Args:
            kinds: their classes or paths. A path whose package is not installed counts for nothing.
        """
        self._pauses += kinds

    def asks(self, pause: Pause) -> None:
        """Say how the framework pauses a run whose call requires approval.

        Args:
            pause: identifies a call, and pauses its run or returns the answer of a resumed one.
        """
        self._pause = pause

    # -- installed ---------------------------------------------------------------------------------

    @named_options
    def install(
        self, bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
        approver: Store | None = None, untested: Untested = "check",
    ) -> Uninstall:  # fmt: skip
        """Hook the calls of the framework, of both existing and future objects.

        Args:
            bus: the bus to declare the hooks on.
            say: a function that turns a `HookBlocked` into the text that the model reads.
            approver: a store that the bus asks for approval while the run is paused. Only adapters
                of frameworks that can pause a run accept one.
            untested: what to do with a release newer than the tested ones: `"check"` checks the
                replaced functions and runs a self-test, `"refuse"` raises.

        Returns:
            A function that restores the framework. A second call does nothing.

        Raises:
            HookError: if the framework is not installed, is incompatible, or already runs on
                hookbus; or if `approver` is not accepted, or the bus has another approver.
        """
        return self.install_with(bus, say=say, approver=approver, untested=untested)

    def install_with(
        self, bus: Bus, *, untested: Untested, approver: Store | None = None,
        say: Callable[[HookBlocked], str] = refusal, without: tuple[str, ...] = (),
    ) -> Uninstall:  # fmt: skip
        """Install the adapter like `install`, from an adapter's own `install` function.

        Args:
            bus: as in `install`, like `untested`, `approver` and `say`.
            without: prefixes of the paths of functions that are not hooked.
        """
        patches = patches_of(self._name, self._package, (self._tested,), untested, self.install,
                             self._home)  # fmt: skip
        with patches:
            gate = self._gate(patches, bus, say, tuple(self._hooks), approver)
            for path, step in self._steps:
                if not (path and path.startswith(without)):
                    step(gate)
        return patches.restore

    def gate(
        self, bus: Bus, *, untested: Untested = "check",
        say: Callable[[HookBlocked], str] = refusal,
    ) -> Gate:  # fmt: skip
        """Return a gate for an object that users put in place themselves, such as middleware.
        Nothing is replaced.

        Args:
            bus: as in `install`, like `say` and `untested`.
        """
        patches = in_place_of(self._name, self._package, self._tested, untested, self.install,
                              self._home)  # fmt: skip
        return self._gate(patches, bus, say, ("tool_call",), None)

    def _gate(
        self, patches: Patches, bus: Bus, say: Any, words: tuple[str, ...], approver: Store | None
    ) -> Gate:
        if approver is not None and self._pause is None:
            raise HookError(f"approver= needs a framework that pauses runs, unlike {self._package}")
        paths = [each for each in self._pauses if isinstance(each, str)]
        classes = tuple(each for each in self._pauses if not isinstance(each, str))
        return Gate(
            patches, bus, self._results, words=words, say=say, approver=approver,
            pause=self._pause, passes=(*classes, *exceptions(*paths)),
        )  # fmt: skip

    @property
    def _home(self) -> Any:
        """What has the sample and the list of seams, or the name of that module."""
        if isinstance(self._sample, str):
            return self._sample
        return SimpleNamespace(sample=self._sample, SEAMS="")
