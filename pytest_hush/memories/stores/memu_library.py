"""The one place where MemU's library is imported: its models are the run's, its files the store's, its log quiet."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import logging
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pytest_hush.errors import MemoryStoreError, MissingExtraError
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.memories.stores.threads import THREADS, in_thread
from pytest_hush.protocols import Embedder

PACKAGE: Final = "memu-py"
VERSION: Final = "1.5.1"
"""The only one: on PyPI nothing came after it, and what its authors work on now is another product."""
PYTHON: Final = (3, 13)
RESOURCES: Final = "resources"
"""Folder of the conversations that `memorize` reads, inside the store's."""
_INSTALL: Final = "Run: pip install 'pytest-hush[embed]' && hush install memu"
_NOWHERE: Final = "http://127.0.0.1:9/v1"
"""The discard port: what must never be called is answered by nobody."""
_LOGGERS: Final = ("memu.app.memorize", "memu.app.retrieve", "memu.app.service", "memu.llm.wrapper")
_NOTHING: Final = re.compile(r"<(item|profile|behaviors|events|knowledge|skills)\s*(/>|>\s*</\1>)")
"""An extraction that says in its format that there was nothing to keep."""
_lock = threading.Lock()


def require_memu() -> None:
    """Raises `MissingExtraError` where this Python is too old or the library is not the one; imports nothing."""
    require_python()
    try:
        # By the package: another one on PyPI has a module of the same name.
        found = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtraError(
            f"The memory 'memu' needs {PACKAGE} {VERSION}, which is not installed. {_INSTALL}"
        ) from None
    if found != VERSION:
        raise MissingExtraError(f"The memory 'memu' needs {PACKAGE} {VERSION}, and {found} is installed. {_INSTALL}")


def require_python() -> None:
    """Raises `MissingExtraError` where this Python is too old."""
    if sys.version_info < PYTHON:
        raise MissingExtraError(
            f"The memory 'memu' needs Python {PYTHON[0]}.{PYTHON[1]} or later, because {PACKAGE} does; this is Python "
            f"{sys.version_info[0]}.{sys.version_info[1]} ({sys.executable}). Run the tests with a later one, or name "
            f"another memory."
        )


def memu_version() -> str:
    """The library that decides what is stored and found."""
    return f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"


def open_service(folder: Path, *, channel: Channel | None, embedder: Embedder, summaries: bool) -> Any:
    """A `MemoryService` with an empty store in memory, whose files go to `folder`.

    It retrieves items by their vectors alone: categories and resources name no session, and the checks that MemU can
    make by a model would need one for every question. Without `summaries` none is written for the categories.
    """
    with _lock:
        memu = _import()
    service = memu.MemoryService(
        # Both clients are replaced below; what got past them would find nobody.
        llm_profiles={"default": {"base_url": _NOWHERE, "api_key": "none"}},
        blob_config={"resources_dir": str(folder / RESOURCES)},
        database_config={"metadata_store": {"provider": "inmemory"}},
        retrieve_config={
            "method": "rag",
            "route_intention": False,
            "sufficiency_check": False,
            "category": {"enabled": False},
            "resource": {"enabled": False},
        },
    )
    service._llm_clients.update(default=ChannelChat(channel), embedding=RunEmbedding(embedder))
    if not summaries:
        service.remove_step(target_step_id="persist_index", pipeline="memorize")
    if channel is not None:
        _count_unreadable(service, channel)
    return service


class ChannelChat:
    """MemU's interface of a chat model over the store's `Channel`."""

    chat_model: Final = "extraction"

    def __init__(self, channel: Channel | None) -> None:
        """`channel` is None where no model is ever to be asked."""
        self._channel = channel

    async def chat(
        self,
        prompt: str,
        *,
        max_tokens: int | None = None,
        system_prompt: str | None = None,
        temperature: float = 0.0,  # noqa: ARG002 - MemU's signature
    ) -> tuple[str, dict[str, Any]]:
        """The text of the answer, and all of it. Raises the model's failure, which the channel keeps.

        At temperature 0, whatever MemU asks for (0.2): each run would have another store.
        """
        channel = self._channel
        if channel is None:
            raise MemoryStoreError("memu: the library asked a model in the mode that has none")
        system = [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
        messages = [*system, {"role": "user", "content": prompt}]
        body = {"messages": messages, "max_tokens": max_tokens, "temperature": 0.0}
        answer = await in_thread(lambda: channel.answer(body))
        return str(answer["choices"][0]["message"]["content"]), answer


class RunEmbedding:
    """MemU's interface of an embedder over the run's: the same bytes for the same text, in any store."""

    embed_model: Final = "embedding"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def embed(self, inputs: Sequence[str]) -> tuple[list[list[float]], None]:
        return vectors(self._embedder, inputs), None


def vectors(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """One vector a text, as MemU's records hold them."""
    found: list[list[float]] = embedder.embed(list(texts)).tolist()
    return found


def _count_unreadable(service: Any, channel: Channel) -> None:
    """Count the extractions that are not in the XML that MemU asks for: it stores nothing of them, without a word."""

    def look(call: object, request: object, response: Any, usage: object) -> None:  # noqa: ARG001 - MemU's signature
        text = str(response.content)
        if not service._parse_memory_type_response_xml(text) and not _NOTHING.search(text):
            channel.garbled += 1

    service.intercept_after_llm_call(look, where={"step_ids": ["extract_items"]})


@functools.cache
def _import() -> Any:
    """Import and prepare the library; under the lock. It has no telemetry, and writes nothing by itself."""
    memu = importlib.import_module("memu")
    memorize: Any = importlib.import_module("memu.app.memorize")
    # One of its messages goes through the root logger, which would set up logging for the whole process.
    memorize.logging = memorize.logger
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_not_ours)
    return memu


def _not_ours(record: logging.LogRecord) -> bool:
    """False for what the library logs while it works for this package: failures there are found and raised."""
    return not (record.threadName or "").startswith(THREADS)
