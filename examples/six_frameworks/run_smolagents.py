"""An agent of smolagents that calls tools, with a model that is a script."""

from receivers import WISHES, read, tell
from smolagents import ActionStep, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, Model

from hookbus import adapters


def asks(name, arguments):
    call = ChatMessageToolCallFunction(name=name, arguments=arguments)
    return ChatMessage(
        "assistant", "", [ChatMessageToolCall(function=call, id="1", type="function")]
    )


class Script(Model):
    def __init__(self):
        super().__init__(model_id="script")
        self.answers = [asks("read", wish) for wish in WISHES]
        self.answers.append(asks("final_answer", {"answer": "done"}))

    def generate(self, messages, **options):
        return self.answers.pop(0)


def work():
    agent = ToolCallingAgent([tool(read)], Script(), verbosity_level=0)
    agent.run("go")
    steps = [each for each in agent.memory.steps if isinstance(each, ActionStep)]
    return [each.observations for each in steps[:-1]]


adapters.smolagents.install()
tell(work)
