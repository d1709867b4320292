"""Tests for your hooks: record the calls in a block of code, and assert which calls were made.

    from hookbus.testing import record

    with record() as recording:
        agent.reply("hi")
    recording.exactly(reply=1)
    print(recording)                # every call, which call made it, and what the receivers did

In a notebook, the recording is shown as a diagram, with progress while the cell runs.

hookbus has a pytest plugin with a fixture, `hook_recorder`, which does the same for `default_bus`.

`adapter_contract` creates the tests that every adapter of a framework must pass.
"""

from ._adapters import adapter_contract
from ._recording import Recording, record

__all__ = ["Recording", "adapter_contract", "record"]


def __dir__() -> list[str]:
    return sorted(__all__)
