"""Every way to ask a model of ADK under the contract of models."""

from __future__ import annotations

from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from hookbus.adapters import google_adk

from .model_contract import (  # noqa: F401
    ANSWER,
    PARTS,
    PIN,
    ModelContract,
    pytest_generate_tests,
    way,
)


def said(text: str) -> Any:
    return types.Content(role="model", parts=[types.Part(text=text)])


class Saying(BaseLlm):
    asked: Any = None

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.asked.append(llm_request)
        if stream:
            for part in PARTS:
                yield LlmResponse(content=said(part), partial=True)
        yield LlmResponse(content=said(ANSWER), partial=False)


class TestADKModels(ModelContract):
    install = staticmethod(google_adk.install)

    def changed(self, result):
        text = result.content.parts[0].text.replace(PIN, "***")
        return result.model_copy(update={"content": said(text)})

    async def _texts(self, *, stream: bool) -> list[str]:
        request = LlmRequest(contents=[types.Content(parts=[types.Part(text="hello")])])
        self.left = left = []
        model = Saying(model="m", asked=self.asked)
        async for each in model.generate_content_async(request, stream):
            left.append(each.content.parts[0].text)
        return left

    async def ask_named(self):
        request = LlmRequest(contents=[types.Content(parts=[types.Part(text="hello")])])
        async for _ in Gemini(model="m-1").generate_content_async(request):
            pass

    @way
    async def whole(self):
        return await self._texts(stream=False)

    @way
    async def streamed(self):
        return await self._texts(stream=True)
