"""Validate arguments with pydantic models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import Block, HookContext, HookError
from .._ground.errors import did_you_mean
from ._call import tool_of
from ._canonical import as_json
from ._ready import Hooks, ReadyGuard, library


class schema(ReadyGuard):
    """A guard that allows a call only if a pydantic model accepts its arguments.

    The arguments are validated as JSON in strict mode and are not converted; for example, a string
    is not a number. Fields that the model does not declare are rejected, even if it allows extra
    fields.

    Args:
        model: one model for all tools, or a mapping of exact tool names to models. With a mapping,
            a tool without a model is blocked.
        hook: the hook to check: a name, several names, or a glob.

    Raises:
        HookError: if an object is not a pydantic model, or if no model is passed.
    """

    def __init__(self, model: Any, *, hook: Hooks = "tool_call") -> None:
        super().__init__(hook)
        pydantic = library("pydantic", "schema")
        models = model if isinstance(model, Mapping) else {None: model}
        if not models:
            raise HookError("schema() needs at least one model")
        for each in models.values():
            if not isinstance(each, type) or not issubclass(each, pydantic.BaseModel):
                raise HookError(f"schema() needs pydantic models, not {each!r:.60}")

        def judge(sender: Any, ctx: HookContext) -> Block | None:
            name, arguments = tool_of(ctx)
            found = models.get(name, models.get(None))
            if found is None:
                known = did_you_mean(str(name), [str(each) for each in models])
                return Block(f"tool {ascii(name)[:60]} has no schema{known}", code="schema")
            try:
                written = as_json(arguments)
            except (TypeError, ValueError, RecursionError):
                return Block("the arguments are not valid JSON", code="schema")
            try:
                found.model_validate_json(written, strict=True, extra="forbid")
            except pydantic.ValidationError as error:
                return Block(_said(error), code="schema")
            return None

        self.on("pre", judge, role="guard")


def _said(error: Any) -> str:
    """Return the validation errors by field name. They contain no values, because a model reads the
    text."""
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    places = [".".join(map(str, each["loc"])) or "arguments" for each in wrong]
    problems = [f"{place}: {each['msg']}" for place, each in zip(places[:5], wrong)]
    more = f", and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    return "; ".join(problems) + more
