"""The agent and the plugins for the tests with Bub's own hooks."""

import pytest

from hookbus import hookable


@pytest.fixture
def Agent(bus):
    class Agent:
        """An agent whose model and tools are hooks."""

        def __init__(self):
            self.ran = []

        @hookable("llm", bus=bus)
        async def llm(self, request, run_id="run"):
            self.ran.append(request)
            return f"re: {request}"

        @hookable("tool", bus=bus)
        async def tool(self, name, arguments, run_id="run"):
            self.ran.append((name, arguments))
            if name == "broken":
                raise LookupError("broken")
            return f"{name}: {arguments}"

    return Agent


def folder_with(tmp_path, *names):
    """Return a folder of plugins that answer with their own names."""
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "hookbus-plugin.toml").write_text(
            f'format = 1\nid = "{name}"\nversion = "1.0"\nhooks = ["ask"]\n'
        )
        code = f"def register(api):\n    api.connect('ask', lambda: {name!r}, name={name!r})\n"
        (tmp_path / name / "plugin.py").write_text(code)
    return tmp_path
