"""AgenticX's own executor of tools."""

from agenticx.tools import FunctionTool
from agenticx.tools.executor import ToolExecutor
from receivers import WISHES, connect, remove, tell

from hookbus.adapters import agenticx


def work():
    executor, tool = ToolExecutor(max_retries=0), FunctionTool(remove)
    results = [executor.execute(tool, **wish) for wish in WISHES]
    return [result.result if result.success else str(result.error) for result in results]


agenticx.install()
connect("tool_call", "arguments")
tell(work)
