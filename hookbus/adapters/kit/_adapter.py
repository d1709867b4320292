"""Defines an adapter by listing the framework functions to hook."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from hookbus import Bus, HookBlocked, HookError, default_bus

from ..._ground.keywords import named_options
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
"""The hooks for a method that always streams (True) or never streams (False)."""


class Adapter:
    """An adapter for one framework, which is imported only when the adapter is installed.

        agentlib = Adapter("agentlib", tested=("1.0", "1.4"), refused=lambda refused: refused.text)
        agentlib.tool("agentlib:Tool.run", arguments="arguments")
        uninstall = agentlib.install(bus)

    The path of a function is `"module:function"` or `"module:Class.method"`. A method is hooked in
    its class and in all existing and future subclasses. A function is hooked in every module of its
    package that has imported it.

    Args:
        package: the name of the framework's distribution, as used by pip.
        tested: the oldest and the newest version that the adapter was tested with.
        refused: a function that takes the `Refusal` of a blocked call, and returns the result for
            the framework or raises an exception. By default, `HookBlocked` is raised.
        shown: a function that takes the framework's result and returns the text or plain data that
            receivers see. It can also be a pair of functions, such as `shown_as.pydantic`.
        packed: a function that takes the call, the framework's result (None if the tool did not
            run) and the replacement value, and returns the new result.
        sample: a function that creates one tool of the framework, for the self-test on untested
            releases. It can also be the name of a module that contains this function as `sample`
            and the list of all hooked functions as `SEAMS`.
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
        self._package, self._tested = package, Between(*tested)
        self._name = sample.rpartition(".")[2] if isinstance(sample, str) else package
        is_module = isinstance(sample, str)
        self._home: Any = sample if is_module else SimpleNamespace(sample=sample, SEAMS="")
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
        """Hook each call to a function as `tool_call`.

        The fields of the call are paths. The first name of a path is a parameter of the function
        or, if there is no such parameter, an attribute of the tool; an example is
        `"context.call_id"`. A field can also be a function that takes all arguments by name, as a
        dict, and returns the value.

        Args:
            path: the path of the function.
            read: a function that reads the call, if the other arguments cannot describe it. It
                takes the framework's function and the arguments of the call, and returns a
                `ToolCall` and a function that makes the call with changed arguments.
            name: the name of the tool.
            arguments: the parameter with the tool's arguments, as a mapping, a pydantic model, or
                JSON. By default, all parameters of the function are arguments of the tool.
            kind: the kind of the tool, or a function that takes the tool and returns its kind.
            caller: the agent that calls the tool.
            call_id: the framework's identifier of the call.
            tool: the tool, which is the sender. By default, it is the object that has the method.
            parameters: a function that takes the tool and returns the names of its parameters, if
                the hooked function accepts arbitrary arguments.
            layer: the layer of the function, if a call passes through several hooked functions.
                Inner functions have higher numbers. The hooks run once, at the outermost function.
            stream: whether the function yields its result as the last of several parts. By default,
                this is true for an async generator function.
            optional: whether some releases of the framework may lack the function.
            if_installed: whether the package of the function may be missing.
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
        """Hook each call to a method that returns a whole answer as `model_call`.

        Args:
            paths: the paths of the methods.
            messages: the parameter with the messages; by default, the first parameter. All other
                parameters are options.
            is_async: whether the methods are async. By default, this is true for coroutine
                functions and async generator functions.
            aside: a class that delays the framework's own reports of an answer until the guards
                have returned.

        Returns:
            An object whose `stream` method hooks the methods that return the answer in parts.
        """
        self.words("model_call")
        return Model(self, aside).hooked(paths, "model_call", None, messages, is_async)

    @named_options
    def run(
        self, path: str, *, agent: str | None = None, input: str | None = None,
        stream: str | bool | None = None,
    ) -> None:  # fmt: skip
        """Hook each call to a method as `agent_run`, or as `agent_stream` if it yields parts.

        Args:
            path: the path of the method.
            agent: the parameter or attribute with the agent. By default, the agent is the object
                that has the method.
            input: the parameter with the input; by default, the first parameter.
            stream: the parameter that requests a stream, or True if the method always yields parts,
                or False if it never yields parts. The parts of an async method must be an async
                iterator. If the method does not match, installing the adapter raises `HookError`.
        """
        self.words(*_RUNS.get(stream, ("agent_run", "agent_stream")))

        def hook(gate: Gate) -> None:
            cls, name = find(gate, path)
            hook_runs(gate.vocabulary, cls, name, agent=agent, input=input, stream=stream)

        self._steps.append((path, hook))

    def wrap(
        self, path: str, *, optional: bool = False, if_installed: bool = False
    ) -> Callable[[Any], Any]:
        """Return a decorator for a function that replaces a function of the framework.

        The replacement takes the gate, the framework's function, and the arguments of the call. To
        make a tool call, it calls `gate.run(call, body)` or `await gate.run_async(call, body)`.

        Args:
            path: the path of the framework's function.
            optional: whether some releases of the framework may lack the function.
            if_installed: whether the package of the function may be missing.
        """

        def decorate(replacement: Any) -> Any:
            def hook(gate: Gate) -> None:
                if not is_missing(gate, path, optional=optional, if_installed=if_installed):
                    replace(gate, path, replacement)

            self._steps.append((path, hook))
            return replacement

        return decorate

    def also(self, step: Step) -> Step:
        """Call a function when the adapter is installed. This method is a decorator.

        Args:
            step: the function, which takes the gate. To replace anything, it uses `gate.patches`,
                which the uninstall function undoes.
        """
        self._steps.append(("", step))
        return step

    def words(self, *hooks: str) -> None:
        """Declare the common hooks that functions passed to `wrap` and `also` call.

        Args:
            hooks: the names of the hooks, such as `"agent_run"`.
        """
        self._hooks.update(dict.fromkeys(hooks))

    def pauses(self, *kinds: str | type[BaseException]) -> None:
        """List exceptions that return control to the framework and are not failures of a call.

        Args:
            kinds: the classes of the exceptions, or their paths. A path is ignored if its package
                is not installed.
        """
        self._pauses += kinds

    def asks(self, pause: Pause) -> None:
        """Define how the framework pauses a run if a call requires approval.

        Args:
            pause: a `Pause`, which identifies the call, and either pauses its run or returns the
                answer with which the run was resumed.
        """
        self._pause = pause

    # -- installed ---------------------------------------------------------------------------------

    @named_options
    def install(
        self, bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
        approver: Store | None = None, untested: Untested = "check",
    ) -> Uninstall:  # fmt: skip
        """Hook the calls of both existing and future objects of the framework.

        Args:
            bus: the bus to declare the hooks on.
            say: a function that turns a `HookBlocked` into the text that the model reads.
            approver: a store for requests for approval, while the run is paused. Only adapters of
                frameworks that can pause a run accept a store.
            untested: how to treat a release newer than the tested releases: `"check"` checks the
                replaced functions and runs a self-test, `"refuse"` raises an exception.

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
        """Do the same as `install`, with more options, for an adapter with its own `install`.

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
        """Return a gate for an object that users add to the framework, such as middleware. It
        replaces no function.

        Args:
            bus: as in `install`, like `untested` and `say`.
        """
        patches = in_place_of(self._name, self._package, self._tested, untested, self.install,
                              self._home)  # fmt: skip
        return self._gate(patches, bus, say, ("tool_call",), None)

    def _gate(
        self, patches: Patches, bus: Bus, say: Any, words: tuple[str, ...], approver: Store | None
    ) -> Gate:
        if approver is not None and self._pause is None:
            raise HookError(f"approver= is not possible here: {self._package} cannot pause a run")
        paths = [each for each in self._pauses if isinstance(each, str)]
        classes = tuple(each for each in self._pauses if not isinstance(each, str))
        return Gate(
            patches, bus, self._results, words=words, say=say, approver=approver,
            pause=self._pause, passes=(*classes, *exceptions(*paths)),
        )  # fmt: skip
