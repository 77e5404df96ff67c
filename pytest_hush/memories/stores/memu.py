"""``memu``: MemU's own library (memu-py 1.5.1) with its store in memory, one folder a store between uses.

Two modes. ``verbatim`` stores each turn as an item, through the library's repository: no model, one entry a turn.
``llm`` is `MemoryService.memorize` on each session: the model is asked for segments, then for the facts about the user
and for the events. Three calls a session; where it names segments, three for each of them (a caption more) and one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pytest_hush.errors import UsageError
from pytest_hush.memories.render import line
from pytest_hush.memories.stores.backend import Hit
from pytest_hush.memories.stores.base import LIMIT, StoreMemory
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.memories.stores.memu_dump import dump, restore
from pytest_hush.memories.stores.memu_library import RESOURCES, memu_version, open_service, require_memu, vectors
from pytest_hush.memories.stores.registry import Parts
from pytest_hush.memories.stores.settings import Table
from pytest_hush.model import Persona, Session, digest
from pytest_hush.protocols import Embedder

Mode = Literal["verbatim", "llm"]
MODES: Final[tuple[Mode, ...]] = ("verbatim", "llm")
ADAPTER: Final = "1"
_SCOPE: Final = {"user_id": "persona"}
_VERBATIM_TYPE: Final = "event"
"""The memory type of a turn: MemU has none for what was merely said, and retrieval does not look at it."""


def create(parts: Parts) -> StoreMemory:
    """The condition ``memu``. Raises `UsageError` on a wrong setting, `MissingExtraError` on a missing library."""
    table = Table("memu", parts.settings)
    mode: Mode = table.choice("mode", MODES, "verbatim" if parts.model is None else "llm")
    top_k = table.integer("top_k", LIMIT, 1, LIMIT)
    summaries = table.boolean("summaries", False)
    table.end()
    require_memu()
    embedder = parts.embedder()
    model = None
    if mode == "llm":
        if parts.model is None:
            raise UsageError("memory settings, memu.mode = 'llm': name the extraction model with --hush-memory-model.")
        model = parts.model()
    backend = MemU(embedder, mode=mode, summaries=summaries)
    return StoreMemory(backend, parts.folder, model=model, embedder=lambda: embedder, top_k=top_k)


class MemU:
    """The `Backend` of MemU.

    What `memorize` makes of a session depends on that session alone (only the summaries of the categories see earlier
    ones, and they are not retrieved), so the planted session is read last.
    """

    name: Final = "memu"
    order_matters: Final = False

    def __init__(self, embedder: Embedder, *, mode: Mode, summaries: bool = False) -> None:
        self._embedder = embedder
        self._mode = mode
        self._summaries = summaries
        self.label = f"memu@{mode}"
        self.version = f"{ADAPTER} + {memu_version()}"
        self.settings: Mapping[str, Any] = {
            "mode": mode,
            "summaries": summaries,
            "vector_store": "in memory, cosine",
            "embedder": f"{embedder.name}@{getattr(embedder, 'version', '')}",
        }

    def open(self, folder: Path, channel: Channel | None) -> MemUStore:
        service = open_service(folder, channel=channel, embedder=self._embedder, summaries=self._summaries)
        restore(service.database, folder)
        return MemUStore(service, folder, self._embedder, self._mode)


class MemUStore:
    """One of MemU's services; its store in memory comes from the folder, and goes back there.

    An empty one gets many sessions, and is written once, on `close`. One with entries gets the planted session alone
    and is written then: many of these are closed at once when a run ends, and it does not wait for them.
    """

    def __init__(self, service: Any, folder: Path, embedder: Embedder, mode: Mode) -> None:
        self._service = service
        self._items = service.database.memory_item_repo
        self._folder = folder
        self._embedder = embedder
        self._mode = mode
        self._filled = bool(self._items.list_items())
        self._changed = False

    def ingest(self, session: Session, persona: Persona) -> None:  # noqa: ARG002 - the protocol's shape
        if self._mode == "verbatim":
            self._insert(session)
        else:
            before = set(self._items.list_items())
            asyncio.run(self._memorize(session))
            for item in self._items.list_items().keys() - before:
                self._items.update_item(item_id=item, extra={"date": session.date})
        self._changed = True
        if self._filled:
            self._write()

    def snapshot(self) -> Mapping[str, str]:
        return {item.id: item.summary for item in self._items.list_items().values()}

    def search(self, question: str, k: int) -> Sequence[Hit]:
        self._service.retrieve_config.item.top_k = k
        asked = [{"role": "user", "content": {"text": question}}]
        found = asyncio.run(self._service.retrieve(asked, where=_SCOPE))["items"]
        hits = []
        for item in found:
            turn = item["extra"].get("turn")
            hits.append(Hit(item["id"], item["summary"], item["extra"]["date"], (turn,) if turn else ()))
        return hits

    def close(self) -> None:
        if self._changed:
            self._write()

    def _write(self) -> None:
        dump(self._service.database, self._folder)
        self._changed = False

    def _insert(self, session: Session) -> None:
        texts = [line(turn) for turn in session.turns]
        for turn, text, vector in zip(session.turns, texts, vectors(self._embedder, texts), strict=True):
            item = self._items.create_item(
                resource_id=None,
                memory_type=_VERBATIM_TYPE,
                summary=text,
                embedding=vector,
                user_data=dict(_SCOPE),
            )
            self._items.update_item(item_id=item.id, extra={"date": session.date, "turn": turn.id})

    async def _memorize(self, session: Session) -> None:
        path = self._folder / RESOURCES / f"{digest(session.id, 16)}.json"
        told = [{"role": t.role, "content": line(t), "created_at": session.date} for t in session.turns]
        path.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
        await self._service.memorize(resource_url=str(path), modality="conversation", user=dict(_SCOPE))
