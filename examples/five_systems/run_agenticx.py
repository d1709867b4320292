"""The tool executor of AgenticX."""

from agenticx.tools import FunctionTool
from agenticx.tools.executor import ToolExecutor
from receivers import REQUESTS, connect, print_results, remove

from hookbus.adapters import agenticx


def work():
    executor, tool = ToolExecutor(max_retries=0), FunctionTool(remove)
    results = [executor.execute(tool, **request) for request in REQUESTS]
    return [result.result if result.success else str(result.error) for result in results]


agenticx.install()
connect("tool_call", "arguments")
print_results(work)
