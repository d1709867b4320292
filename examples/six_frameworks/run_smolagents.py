"""A tool-calling agent of smolagents, with a scripted model."""

from receivers import REQUESTS, print_results, read
from smolagents import ActionStep, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, Model

from hookbus import adapters


def call_message(name, arguments):
    call = ChatMessageToolCallFunction(name=name, arguments=arguments)
    return ChatMessage(
        "assistant", "", [ChatMessageToolCall(function=call, id="1", type="function")]
    )


class Script(Model):
    def __init__(self):
        super().__init__(model_id="script")
        self.answers = [call_message("read", request) for request in REQUESTS]
        self.answers.append(call_message("final_answer", {"answer": "done"}))

    def generate(self, messages, **options):
        return self.answers.pop(0)


def work():
    agent = ToolCallingAgent([tool(read)], Script(), verbosity_level=0)
    agent.run("go")
    steps = [each for each in agent.memory.steps if isinstance(each, ActionStep)]
    return [each.observations for each in steps[:-1]]


adapters.smolagents.install()
print_results(work)
