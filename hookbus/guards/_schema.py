"""Arguments as a model of pydantic has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import Block, HookContext, HookError
from ..exceptions import did_you_mean
from ._call import tool_of
from ._canonical import as_json
from ._ready import Hooks, ReadyGuard, library


class schema(ReadyGuard):
    """A guard that lets a call through whose arguments a model of pydantic takes as they are.

    They are judged as JSON, strictly, and not changed: a text is no number. Fields that the model
    does not have are refused, whatever it says itself.

    Args:
        model: a model for all tools, or a mapping of exact names of tools to models; then a tool
            without one is blocked.
        hook: the hook whose calls it judges, several, or a glob.

    Raises:
        HookError: for what is no model.
    """

    def __init__(self, model: Any, *, hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        pydantic = library("pydantic", "schema")
        models = model if isinstance(model, Mapping) else {None: model}
        if not models:
            raise HookError("schema() lets no call through: name a model")
        for each in models.values():
            if not isinstance(each, type) or not issubclass(each, pydantic.BaseModel):
                raise HookError(f"schema takes models of pydantic, not {each!r:.60}")

        def judge(sender: Any, ctx: HookContext) -> Block | None:
            name, arguments = tool_of(ctx)
            found = models.get(name, models.get(None))
            if found is None:
                known = did_you_mean(str(name), [str(each) for each in models])
                return Block(f"no schema says what {ascii(name)[:60]} takes{known}", code="schema")
            try:
                written = as_json(arguments)
            except (TypeError, ValueError, RecursionError):
                return Block("the arguments are no JSON", code="schema")
            try:
                found.model_validate_json(written, strict=True, extra="forbid")
            except pydantic.ValidationError as error:
                return Block(_said(error), code="schema")
            return None

        self.on("pre", judge, role="guard")


def _said(error: Any) -> str:
    """Return what is wrong, by names and without values: a model reads it."""
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    places = [".".join(map(str, each["loc"])) or "arguments" for each in wrong]
    said = [f"{place}: {each['msg']}" for place, each in zip(places[:5], wrong)]
    more = f", and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    return "; ".join(said) + more
