"""Anthropic's models by the official SDK."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pytest_hush.model import Prompt, Reply
from pytest_hush.models.remote import RemoteModel, count_of, key_from, require_sdk
from pytest_hush.models.settings import ModelSettings, check_base_url
from pytest_hush.protocols import Model

DEFAULT_URL: Final = "https://api.anthropic.com"
KEY_ENV: Final = "ANTHROPIC_API_KEY"


class AnthropicModel(RemoteModel):
    """``anthropic/<model>``. A model that refuses `temperature` is asked without it from then on, with a note.

    An empty text is a `RefusedCallError`, a stop for ``refusal`` included: a reply that nobody wrote is never scored.
    """

    expected: ClassVar[str] = "a message with content (JSON)"
    droppable: ClassVar[Mapping[str, str]] = {
        "temperature": "temperature refused by the model: sent without, its own default applies",
    }

    @classmethod
    def create(cls, model: str, settings: ModelSettings) -> Model:
        """Raises `UsageError` for a missing ANTHROPIC_API_KEY, `MissingExtraError` for a missing SDK."""
        require_sdk("anthropic")
        given = settings.base_url or os.environ.get("ANTHROPIC_BASE_URL") or ""
        base_url = check_base_url(given, "Base URL of the anthropic provider") if given else DEFAULT_URL
        return cls(
            f"anthropic/{model}",
            model,
            base_url=base_url,
            is_default_url=base_url == DEFAULT_URL,
            key=key_from(KEY_ENV, f"Model anthropic/{model}"),
            key_env=KEY_ENV,
            settings=settings,
            price_ref=("anthropic", model) if base_url == DEFAULT_URL else (base_url, model),
        )

    def _new_client(self) -> Any:
        import anthropic

        return anthropic.AsyncAnthropic(
            api_key=self._key, base_url=self._base_url, max_retries=0, timeout=self._timeout_s
        )

    def _sdk_errors(self) -> tuple[type[Exception], ...]:
        import anthropic

        return (anthropic.APIError,)

    def _request(self, prompt: Prompt, temperature: float) -> dict[str, Any]:
        system = "\n\n".join(m.content for m in prompt.messages if m.role == "system")
        return {
            "model": self._model,
            "max_tokens": prompt.max_tokens,
            "messages": [{"role": m.role, "content": m.content} for m in prompt.messages if m.role != "system"],
            "temperature": temperature,
            **({"system": system} if system else {}),
        }

    async def _send(self, client: Any, request: dict[str, Any]) -> str:
        # The SDK has no argument for the temperature since its second version.
        extra = {k: v for k, v in request.items() if k == "temperature"}
        known = {k: v for k, v in request.items() if k != "temperature"}
        raw = await client.messages.with_raw_response.create(**known, extra_body=extra or None)
        return str(raw.http_response.text)

    def _read(self, body: dict[str, Any], started: float, attempts: int) -> Reply | None:
        content = body.get("content")
        if body.get("type") != "message" or not isinstance(content, list):
            return None
        text = "".join(str(b.get("text", "")) for b in content if isinstance(b, dict) and b.get("type") == "text")
        counts = body.get("usage")
        counts = counts if isinstance(counts, dict) else {}
        cached = sum(count_of(counts.get(k)) for k in ("cache_creation_input_tokens", "cache_read_input_tokens"))
        sent = count_of(counts.get("input_tokens"))
        tokens = (sent + cached if sent else 0, counts.get("output_tokens"))
        return self._made(text, str(body.get("stop_reason") or ""), body.get("model"), tokens, started, attempts)
