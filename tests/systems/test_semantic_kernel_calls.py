"""Semantic Kernel: what a program injects, and functions that do not exist."""

from __future__ import annotations

from typing import Any

from semantic_kernel.functions import (
    KernelArguments,
    KernelFunctionFromMethod,
    KernelPlugin,
    kernel_function,
)
from semantic_kernel.functions.kernel_parameter_metadata import KernelParameterMetadata

from hookbus.adapters import semantic_kernel

from .call_contract import HIDDEN, InjectedContract, UnknownContract, Wallet
from .test_semantic_kernel_contract import agent_of, asked, bank, scripted
from .tool_contract import ANN


def keyed_bank(wallet: Any) -> KernelPlugin:
    @kernel_function(name="pay", description="Pay.")
    def pay(amount: int, to: str, key: Any = None) -> str:
        return wallet(amount, to, key)

    pay.__annotations__.update(amount=int, to=str)
    kinds = {"amount": int, "to": str, "key": str}
    parameters = [
        KernelParameterMetadata(
            name=name, type=kind.__name__, type_object=kind, is_required=name in ("amount", "to"),
            include_in_function_choices=name in ("amount", "to"),
        ) for name, kind in kinds.items()
    ]  # fmt: skip
    function = KernelFunctionFromMethod(pay, "bank", parameters=parameters)
    return KernelPlugin("bank", functions=[function])


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(semantic_kernel.install)

    async def inject(self, wallet: Wallet) -> None:
        agent = agent_of(scripted(asked([ANN])), keyed_bank(wallet))
        await agent.get_response("go", arguments=KernelArguments(key=HIDDEN))

    async def ask_for_fly(self) -> str:
        service = scripted([("bank-fly", {"to": "moon"})])
        await agent_of(service, bank(Wallet())).get_response("go")
        return str(service.told[-1].items[0].result)

    async def forge(self, wallet: Wallet) -> None:
        agent = agent_of(scripted(asked([{**ANN, "key": "forged"}])), keyed_bank(wallet))
        await agent.get_response("go", arguments=KernelArguments(key=HIDDEN))

    def test_what_a_model_forges_stays_an_argument(self, bus):
        wallet, seen = Wallet(), []
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments: seen.append(dict(arguments)), role="observe", name="look"
        )
        self.run(self.forge, wallet)
        assert seen == [{**ANN, "key": "forged"}] and wallet.injected[0][0] == "forged"
