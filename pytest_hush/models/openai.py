"""OpenAI and every server that speaks its chat completions (vLLM, Ollama, llama.cpp, DeepSeek), by the official SDK."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

from pytest_hush.model import Prompt, Reply
from pytest_hush.models.remote import NO_KEY, RemoteModel, key_from, require_sdk
from pytest_hush.models.settings import Endpoint, ModelSettings, check_base_url
from pytest_hush.protocols import Model

DEFAULT_URL: Final = "https://api.openai.com/v1"
KEY_ENV: Final = "OPENAI_API_KEY"


class OpenAIModel(RemoteModel):
    """``openai/<model>`` or ``<endpoint name>/<model>``.

    Sends temperature, seed and max_tokens; a model that refuses one of them is asked without it (or with
    ``max_completion_tokens``) from then on. An empty text is a `RefusedCallError`, whatever the finish reason: a
    reply that nobody wrote is never scored. A refusal with words is a reply with those words.
    """

    expected: ClassVar[str] = "a chat completion with choices (JSON)"
    droppable: ClassVar[Mapping[str, str]] = {
        "max_tokens": "max_tokens refused by the model: sent as max_completion_tokens",
        "temperature": "temperature refused by the model: sent without, its own default applies",
        "seed": "seed refused by the model: sent without",
    }

    _endpoint = False
    _extra: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def for_openai(cls, model: str, settings: ModelSettings) -> Model:
        """The ``openai`` provider; ``--hush-model-base-url`` or OPENAI_BASE_URL move it to another server.

        Raises `UsageError` for a missing OPENAI_API_KEY (another server may need none), `MissingExtraError`.
        """
        require_sdk("openai")
        given = settings.base_url or os.environ.get("OPENAI_BASE_URL") or ""
        base_url = check_base_url(given, "Base URL of the openai provider") if given else DEFAULT_URL
        keyless = bool(given) and not os.environ.get(KEY_ENV, "").strip()
        return cls(
            f"openai/{model}",
            model,
            base_url=base_url,
            is_default_url=base_url == DEFAULT_URL,
            key=NO_KEY if keyless else key_from(KEY_ENV, f"Model openai/{model}"),
            key_env=KEY_ENV,
            settings=settings,
            price_ref=("openai", model) if base_url == DEFAULT_URL else (base_url, model),
        )

    @classmethod
    def for_endpoint(cls, name: str, model: str, endpoint: Endpoint, settings: ModelSettings) -> Model:
        """A named endpoint of the ini file. Raises `UsageError` where its key variable is empty."""
        require_sdk("openai")
        base_url = check_base_url(endpoint.base_url, f"Endpoint {name!r}")
        found = cls(
            f"{name}/{model}",
            model,
            base_url=base_url,
            is_default_url=False,
            key=key_from(endpoint.key_env, f"Endpoint {name!r}") if endpoint.key_env else NO_KEY,
            key_env=endpoint.key_env,
            settings=settings,
            price_ref=(base_url, model),
        )
        found._endpoint = True
        found._extra = dict(endpoint.extra)
        if found._extra:
            found.settings = {**found.settings, "extra": found._extra}
        return found

    def _new_client(self) -> Any:
        import openai

        headers: dict[str, Any] = {}
        if self._endpoint:
            # What the environment tells the SDK about the OpenAI account is not for other servers to see.
            lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
            headers = {line.partition(":")[0].strip(): openai.Omit() for line in lines if ":" in line}
            headers = {k: v for k, v in headers.items() if k.lower() != "authorization"}
            headers |= {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
            headers["Authorization"] = f"Bearer {self._key}"
        return openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._base_url,
            max_retries=0,
            timeout=self._timeout_s,
            default_headers=headers,
        )

    def _sdk_errors(self) -> tuple[type[Exception], ...]:
        import openai

        return (openai.APIError,)

    def _request(self, prompt: Prompt, temperature: float) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": [{"role": m.role, "content": m.content} for m in prompt.messages],
            "max_tokens": prompt.max_tokens,
            "temperature": temperature,
            "seed": prompt.seed + prompt.repeat,
        }

    async def _send(self, client: Any, request: dict[str, Any]) -> str:
        raw = await client.chat.completions.with_raw_response.create(**request, extra_body=dict(self._extra) or None)
        return str(raw.http_response.text)

    def _read(self, body: dict[str, Any], started: float, attempts: int) -> Reply | None:
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            return None
        reason = str(choice.get("finish_reason") or "")
        text = message.get("content") or message.get("refusal") or ""
        if not isinstance(text, str):
            return None
        counts = body.get("usage")
        counts = counts if isinstance(counts, dict) else {}
        tokens = (counts.get("prompt_tokens"), counts.get("completion_tokens"))
        return self._made(text, reason, body.get("model"), tokens, started, attempts)
