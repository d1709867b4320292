"""What the tests of Agno share: a scripted model, and no network."""

from agno.models.base import Model
from agno.models.response import ModelResponse


class ScriptedModel(Model):
    """Answers what a function makes of the last message of the user, or asks for the tools it was
    given first.

    Args:
        answer: makes the answer.
        calls: pairs of a tool's name and its arguments as JSON, asked for one by one before the
            answer.
    """

    def __init__(self, answer=lambda text: "done", calls=()):
        super().__init__(id="scripted", name="scripted", provider="nobody")
        self.answer, self.calls, self.asked = answer, list(calls), []

    def __deepcopy__(self, memo):
        return self

    def reply(self, messages):
        self.asked.append(messages)
        turn = sum(message.role == "assistant" for message in messages)
        if turn < len(self.calls):
            name, arguments = self.calls[turn]
            call = {
                "id": f"call_{turn}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            return ModelResponse(role="assistant", tool_calls=[call])
        text = next(message.content for message in reversed(messages) if message.role == "user")
        return ModelResponse(role="assistant", content=self.answer(text))

    def invoke(self, messages, *args, **kwargs):
        return self.reply(messages)

    async def ainvoke(self, messages, *args, **kwargs):
        return self.reply(messages)

    def invoke_stream(self, messages, *args, **kwargs):
        yield self.reply(messages)

    async def ainvoke_stream(self, messages, *args, **kwargs):
        yield self.reply(messages)

    def _parse_provider_response(self, response, **kwargs):
        return response

    def _parse_provider_response_delta(self, response):
        return response
