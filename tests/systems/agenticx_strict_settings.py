"""AgenticX on hookbus, strict."""

import pytest

from .agenticx_parts import modules_in


@pytest.fixture
def strict(bus, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("agenticx.tools.executor.time.sleep", lambda seconds: None)
    with modules_in("installed", bus, strict=True) as modules:
        yield modules
