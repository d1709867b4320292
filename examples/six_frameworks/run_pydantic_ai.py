"""A Pydantic AI agent, with a scripted model."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from receivers import REQUESTS, print_results, read

from hookbus import adapters


def script(messages, info):
    if len(messages) > 1:
        return ModelResponse([TextPart("done")])
    return ModelResponse(
        [ToolCallPart("read", request, str(i)) for i, request in enumerate(REQUESTS)]
    )


def work():
    messages = Agent(FunctionModel(script), tools=[read]).run_sync("go").all_messages()
    parts = [part for each in messages for part in each.parts]
    return [part.model_response_str() for part in parts if isinstance(part, ToolReturnPart)]


adapters.pydantic_ai.install()
print_results(work)
