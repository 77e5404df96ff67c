"""Models behind the official SDKs, pointed at the scripted server, with a key that must never be seen."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from typing import Any, cast

import pytest

from pytest_hush.errors import HushError
from pytest_hush.model import Message, Prompt, Reply
from pytest_hush.models import Endpoint, ModelSettings, resolve_model
from pytest_hush.models.remote import RemoteModel
from tests.unit.models.server import ScriptedServer, Step

KEY = "sk-test-SECRETSECRETSECRET"
PROMPT = Prompt(
    (Message("system", "Be brief."), Message("user", "Where do I keep buttons?")), max_tokens=50, seed=7, repeat=2
)
Make = Callable[..., RemoteModel]


def openai(url: str, **settings: Any) -> RemoteModel:
    endpoints = {"mine": Endpoint(url + "/v1", "MY_KEY")}
    return cast("RemoteModel", resolve_model("mine/m-1", settings=ModelSettings(endpoints=endpoints, **settings)))


def anthropic(url: str, **settings: Any) -> RemoteModel:
    return cast("RemoteModel", resolve_model("anthropic/claude-x", settings=ModelSettings(base_url=url, **settings)))


def ask(model: RemoteModel, *prompts: Prompt) -> list[Reply]:
    async def run() -> list[Reply]:
        try:
            return [await model.reply(p) for p in prompts or (PROMPT,)]
        finally:
            await model.close()

    return asyncio.run(run())


def failure(make: Make, *steps: Step, **settings: Any) -> HushError:
    """The error of one call; no step may show the key, in the text or in a traceback."""
    with ScriptedServer(steps) as server:
        model = make(server.url, **settings)
        with pytest.raises(HushError) as caught:
            ask(model)
        assert len(server.seen) == len(steps)
    shown = "".join(traceback.format_exception(caught.value))
    assert "SECRET" not in shown
    assert model.name in str(caught.value)
    return caught.value
