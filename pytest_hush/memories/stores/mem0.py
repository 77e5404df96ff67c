"""``mem0``: Mem0's own library (mem0ai 2.x, arXiv 2504.19413) with its FAISS store, one folder a store.

Two modes. ``verbatim`` stores each turn as it is (``infer=False``): no model, one entry a turn. ``llm`` lets the
library extract memories from each session with its own prompt, one call a session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pytest_hush.errors import UsageError
from pytest_hush.memories.render import line
from pytest_hush.memories.stores.backend import Hit
from pytest_hush.memories.stores.base import LIMIT, StoreMemory
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.memories.stores.mem0_library import mem0_version, open_memory, require_mem0
from pytest_hush.memories.stores.registry import Parts
from pytest_hush.memories.stores.settings import Table
from pytest_hush.model import Persona, Session, Turn
from pytest_hush.protocols import Embedder

Mode = Literal["verbatim", "llm"]
MODES: Final[tuple[Mode, ...]] = ("verbatim", "llm")
ADAPTER: Final = "1"
THRESHOLD: Final = 0.1
"""Cosine below which Mem0 leaves a memory out: the library's own default."""
_USER: Final = "persona"
_ALL: Final = 1_000_000
_OBSERVED: Final = (
    "These messages were exchanged on {date}. Take that day for the Observation Date above: resolve every relative "
    "time in them against it."
)


def create(parts: Parts) -> StoreMemory:
    """The condition ``mem0``. Raises `UsageError` on a wrong setting, `MissingExtraError` on a missing library."""
    table = Table("mem0", parts.settings)
    mode: Mode = table.choice("mode", MODES, "verbatim" if parts.model is None else "llm")
    top_k = table.integer("top_k", LIMIT, 1, LIMIT)
    threshold = table.number("threshold", THRESHOLD, 0.0, 1.0)
    in_order = table.boolean("in_order", mode == "llm")
    table.end()
    require_mem0()
    embedder = parts.embedder()
    model = None
    if mode == "llm":
        if parts.model is None:
            raise UsageError("memory settings, mem0.mode = 'llm': name the extraction model with --hush-memory-model.")
        model = parts.model()
    backend = Mem0(embedder, parts.folder, mode=mode, threshold=threshold, in_order=in_order)
    return StoreMemory(backend, parts.folder, model=model, embedder=lambda: embedder, top_k=top_k)


class Mem0:
    """The `Backend` of Mem0."""

    name: Final = "mem0"

    def __init__(
        self, embedder: Embedder, folder: Path, *, mode: Mode, threshold: float = THRESHOLD, in_order: bool = False
    ) -> None:
        self._embedder = embedder
        self._home = folder / "mem0-home"
        self._mode = mode
        self._threshold = threshold
        self.label = f"mem0@{mode}"
        self.version = f"{ADAPTER} + {mem0_version()}"
        self.order_matters = in_order
        self.settings: Mapping[str, Any] = {
            "mode": mode,
            "threshold": threshold,
            "in_order": in_order,
            "vector_store": "faiss, cosine",
            "embedder": f"{embedder.name}@{getattr(embedder, 'version', '')}",
        }

    def open(self, folder: Path, channel: Channel | None) -> Mem0Store:
        dimensions = int(self._embedder.embed(["dimensions"]).shape[1])
        memory = open_memory(
            self._home,
            model=channel,
            embedder=self._embedder,
            index={
                "path": str(folder / "index"),
                "collection_name": "memories",
                "embedding_model_dims": dimensions,
                "distance_strategy": "cosine",
            },
            history=folder / "history.db",
        )
        return Mem0Store(memory, self._mode, self._threshold)


class Mem0Store:
    """One of Mem0's `Memory` objects, with a FAISS index and a history in SQLite."""

    def __init__(self, memory: Any, mode: Mode, threshold: float) -> None:
        self._memory = memory
        self._mode = mode
        self._threshold = threshold
        # A base is opened again and compared before it counts; waiting for the disk at every turn buys nothing.
        memory.db.connection.execute("PRAGMA synchronous = OFF")

    def ingest(self, session: Session, persona: Persona) -> None:  # noqa: ARG002 - the protocol's shape
        about = {"source_session": session.id, "created_at": session.date}
        with _one_write(self._memory.vector_store):
            if self._mode == "verbatim":
                for turn in session.turns:
                    self._add([_message(turn)], {**about, "turn": turn.id}, infer=False)
            else:
                prompt = _OBSERVED.format(date=session.date[:10])
                self._add([_message(turn) for turn in session.turns], about, infer=True, prompt=prompt)

    def snapshot(self) -> Mapping[str, str]:
        found = self._memory.get_all(filters={"user_id": _USER}, top_k=_ALL, show_expired=True)["results"]
        return {str(entry["id"]): str(entry["memory"]) for entry in found}

    def search(self, question: str, k: int) -> Sequence[Hit]:
        found = self._memory.search(question, filters={"user_id": _USER}, top_k=k, threshold=self._threshold)["results"]
        self._memory.embedding_model.check()
        hits = []
        for entry in found:
            turn = (entry.get("metadata") or {}).get("turn")
            date = str(entry.get("created_at") or "")
            hits.append(Hit(str(entry["id"]), str(entry["memory"]), date, (str(turn),) if turn else ()))
        return hits

    def close(self) -> None:
        self._memory.close()

    def _add(self, messages: list[dict[str, str]], metadata: dict[str, str], **options: Any) -> None:
        self._memory.add(messages, user_id=_USER, metadata=metadata, **options)
        self._memory.embedding_model.check()


@contextlib.contextmanager
def _one_write(index: Any) -> Iterator[None]:
    """Write the FAISS index once a session: Mem0 writes all of it for every memory, which is quadratic in turns."""
    write = getattr(index, "_save", None)
    if write is None:
        yield
        return
    index._save = lambda: None
    try:
        yield
    finally:
        del index._save
        write()


def _message(turn: Turn) -> dict[str, str]:
    return {"role": turn.role, "content": line(turn)}
