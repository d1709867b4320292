"""A LangChain agent, with a scripted model."""

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from receivers import REQUESTS, print_results, read

from hookbus import adapters


class Script(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self


def work():
    calls = [
        {"name": "read", "args": request, "id": str(i), "type": "tool_call"}
        for i, request in enumerate(REQUESTS)
    ]
    model = Script(messages=iter([AIMessage("", tool_calls=calls), AIMessage("done")]))
    messages = create_agent(model, [read]).invoke({"messages": ["go"]})["messages"]
    return [each.content for each in messages if isinstance(each, ToolMessage)]


adapters.langchain.install()
print_results(work)
