"""What Mem0's factories put in the place of a provider of theirs: the run's extraction model, and its embedder.

Both work in this process. A client of Mem0's own would read the environment (proxies, other services' keys) and load
the machine's certificates for every store, to reach 127.0.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_hush.errors import HushError, MemoryStoreError
from pytest_hush.loading import raised
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.protocols import Embedder

MAX_TOKENS: Final = 2000
"""Output tokens of an extraction: Mem0's own default."""


class ChannelModel:
    """Mem0's interface of a model over the store's `Channel`."""

    def __init__(self, config: Any) -> None:
        """`config.model` is the channel, or None where no model is ever to be asked."""
        self.config = config
        self._channel: Channel | None = config.model

    def generate_response(
        self, messages: list[dict[str, str]], response_format: Mapping[str, Any] | None = None, **more: Any
    ) -> str:
        """The text of the answer. Raises the model's failure, which the channel keeps."""
        if self._channel is None:
            raise MemoryStoreError("mem0: the library asked a model in the mode that has none")
        body = {"messages": messages, "response_format": response_format, "max_tokens": MAX_TOKENS, **more}
        return str(self._channel.answer(body)["choices"][0]["message"]["content"])


class RunEmbedding:
    """Mem0's interface of an embedder over the run's: the same bytes for the same text, in any store."""

    def __init__(self, config: Any) -> None:
        """`config.model` is the embedder."""
        self.config = config
        self._embedder: Embedder = config.model
        self._failure: Exception | None = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - Mem0's signature
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:  # noqa: ARG002
        try:
            found: list[list[float]] = self._embedder.embed([text.replace("\n", " ") for text in texts]).tolist()
        except Exception as error:
            # Mem0 would go on without the text that could not be embedded.
            self._failure = error
            raise
        return found

    def check(self) -> None:
        """Raise, once, what the embedder raised since the last check."""
        failure, self._failure = self._failure, None
        if isinstance(failure, HushError):
            raise failure
        if failure is not None:
            raise MemoryStoreError(f"mem0: a text could not be embedded: {raised(failure)}") from failure
