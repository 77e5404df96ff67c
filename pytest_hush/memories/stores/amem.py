"""``a-mem``: A-Mem's own library (arXiv 2502.12110) on a Chroma of its own, one folder a store.

One note a turn, of both speakers, dated by its session, as the paper's scripts ingest LoCoMo. Two modes. In
``verbatim-analyser`` our `analyser` answers in the place of the model, for A-Mem always asks one. ``llm`` lets the
model describe each note, and then rewrite its nearest neighbours: two calls a turn.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Literal
from urllib.parse import quote, unquote

from pytest_hush.errors import MemoryStoreError, StoreError, UsageError
from pytest_hush.memories.render import line
from pytest_hush.memories.stores.amem_library import INDEX, Opened, amem_version, open_system, require_amem
from pytest_hush.memories.stores.analyser import NAME, analyse, analyser_version, no_evolution
from pytest_hush.memories.stores.backend import Hit
from pytest_hush.memories.stores.base import LIMIT, StoreMemory
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.memories.stores.ingest import UNREAD_SHARE
from pytest_hush.memories.stores.registry import Parts
from pytest_hush.memories.stores.settings import Table
from pytest_hush.model import Persona, Session, Turn
from pytest_hush.protocols import Embedder

Mode = Literal["verbatim-analyser", "llm"]
MODES: Final[tuple[Mode, ...]] = (NAME, "llm")
ADAPTER: Final = "1"
MAX_TOKENS: Final = 1000
"""Output tokens of one answer: the cap of the authors' own client; the maintained edition has none."""
LONGEST_LIST: Final = 10
LONGEST_TEXT: Final = 300
_OPEN_FORKS: Final = 16
"""An open Chroma holds seven threads and twelve files."""
_EVOLUTION: Final = "should_evolve"
_CONTENT: Final = "Content for analysis:"
_NOTES: Final = "notes.json"
_TIME: Final = "%Y%m%d%H%M"
_THOUGHT: Final = re.compile(r"<think>.*?</think>", re.DOTALL)


def create(parts: Parts) -> StoreMemory:
    """The condition ``a-mem``. Raises `UsageError` on a wrong setting, `MissingExtraError` on a missing library."""
    table = Table("a-mem", parts.settings)
    mode: Mode = table.choice("mode", MODES, NAME if parts.model is None else "llm")
    top_k = table.integer("top_k", LIMIT, 1, LIMIT)
    in_order = table.boolean("in_order", mode == "llm")
    table.end()
    require_amem()
    embedder = parts.embedder()
    model = None
    if mode == "llm":
        if parts.model is None:
            raise UsageError("memory settings, a-mem.mode = 'llm': name the extraction model with --hush-memory-model.")
        model = parts.model()
    backend = AMem(embedder, mode=mode, in_order=in_order)
    return StoreMemory(backend, parts.folder, model=model, top_k=top_k, open_forks=_OPEN_FORKS)


class AMem:
    """The `Backend` of A-Mem."""

    name: Final = "a-mem"

    def __init__(self, embedder: Embedder, *, mode: Mode, in_order: bool = False) -> None:
        self._embedder = embedder
        self._mode = mode
        self.label = f"a-mem@{mode}"
        self.version = f"{ADAPTER} + {amem_version()}"
        self.order_matters = in_order
        self.settings: Mapping[str, Any] = {
            "mode": mode,
            "in_order": in_order,
            "vector_store": {"name": "chroma", "space": "l2", **INDEX},
            "embedder": f"{embedder.name}@{getattr(embedder, 'version', '')}",
            **({"max_tokens": MAX_TOKENS} if mode == "llm" else {"analyser": analyser_version()}),
        }

    def open(self, folder: Path, channel: Channel | None) -> AMemStore:
        return AMemStore(folder, self._embedder, channel, self._mode)


class AMemStore:
    """One of A-Mem's systems. A note's id is ``session/turn``, so that no rewriting can part it from its session."""

    def __init__(self, folder: Path, embedder: Embedder, channel: Channel | None, mode: Mode) -> None:
        self._mode = mode
        self._channel = channel
        self._answers = _Answers(channel, mode)
        self._dump = folder / _NOTES
        self._opened: Opened = open_system(folder, embedder, self._answers)
        self._system = self._opened.system
        try:
            if not self._opened.keeps_notes and self._dump.exists():
                self._restore()
            self._ids = set(self.snapshot())
        except BaseException:
            self._opened.close()
            raise

    def ingest(self, session: Session, persona: Persona) -> Mapping[str, Iterable[str]]:  # noqa: ARG002 - the protocol
        before = set(self._ids)
        derived: dict[str, list[str]] = {}
        calls, garbled = (self._channel.calls, self._channel.garbled) if self._channel is not None else (0, 0)
        with _one_write(self._system) if self._mode == NAME else contextlib.nullcontext():
            for turn in session.turns:
                note = _note_id(session, turn)
                self._system.add_note(line(turn), time=_stamp(session.date), id=note)
                self._check("added a note")
                self._ids.add(note)
                # The model wrote the tags of a linked note in view of those that it linked it to.
                parents = {older for link in self._answers.links() for older in derived.get(link) or (link,)} & before
                if parents:
                    derived[note] = sorted(parents)
        lost = self._ids - self.snapshot().keys()
        if lost:
            raise MemoryStoreError(f"a-mem: the library lost {len(lost)} notes, among them {min(lost)}.")
        # A note whose description was unreadable is stored all the same: a few leave the session readable.
        channel = self._channel
        if channel is not None and channel.garbled - garbled <= UNREAD_SHARE * (channel.calls - calls):
            channel.garbled = garbled
        return derived

    def snapshot(self) -> Mapping[str, str]:
        if not self._opened.keeps_notes:
            return {note: _told(vars(found)) for note, found in self._system.memories.items()}
        retriever = self._system.retriever
        found = retriever.search_with_filter(k=max(1, retriever.count()))
        return {str(n): _told(m) for n, m in zip(found["ids"][0], found["metadatas"][0], strict=True)}

    def search(self, question: str, k: int) -> Sequence[Hit]:
        found = [str(entry["id"]) for entry in self._system.search_agentic(question, k=k)]
        self._check("searched")
        return [self._hit(note) for note in found]

    def close(self) -> None:
        try:
            if not self._opened.keeps_notes:
                notes = [vars(note) for note in self._system.memories.values()]
                self._dump.write_text(json.dumps({"notes": notes, "evolved": self._system.evo_cnt}), encoding="utf-8")
        finally:
            self._opened.close()

    def _restore(self) -> None:
        data = json.loads(self._dump.read_text(encoding="utf-8"))
        self._system.memories = {row["id"]: self._opened.note(**row) for row in data["notes"]}
        self._system.evo_cnt = data["evolved"]

    def _hit(self, note: str) -> Hit:
        found = self._system.read(note)
        self._check("read a note")
        if found is None:
            raise StoreError(f"a-mem: the search found the note {note}, which the store does not hold.")
        date = datetime.strptime(str(found.timestamp), _TIME).strftime("%Y-%m-%dT%H:%M")
        # What a model writes into a note may come from other turns.
        turns = (unquote(note.partition("/")[2]),) if self._mode == NAME else ()
        return Hit(note, _told(vars(found)), date, turns)

    def _check(self, what: str) -> None:
        """Raise what the library passed over: the model's own failure first, for it explains the library's."""
        if self._channel is not None:
            self._channel.check()
        texts = self._opened.swallowed.texts
        if texts:
            found, texts[:] = texts[0], []
            raise MemoryStoreError(f"a-mem: while it {what}, the library passed over a failure: {found[:200]}")


class _Answers:
    """In the place of the library's client of a language model."""

    def __init__(self, channel: Channel | None, mode: Mode) -> None:
        self._channel = channel
        self._mode = mode
        self._links: tuple[str, ...] = ()

    def get_completion(self, prompt: str, response_format: Mapping[str, Any], **_options: Any) -> str:
        schema = response_format["json_schema"]["schema"]
        evolving = _EVOLUTION in schema["properties"]
        if self._mode == "llm":
            answer = self._asked(prompt, schema)
        else:
            answer = None if evolving else analyse(prompt.partition(_CONTENT)[2].strip())
        if answer is None:
            # What the library itself makes of an answer that it cannot read.
            answer = no_evolution() if evolving else {"keywords": [], "context": "General", "tags": []}
        if answer.get(_EVOLUTION) and "strengthen" in answer["actions"]:
            self._links = tuple(answer["suggested_connections"])
        return json.dumps(answer)

    def links(self) -> tuple[str, ...]:
        """The notes that the answers since the last call linked a new note to."""
        found, self._links = self._links, ()
        return found

    def _asked(self, prompt: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        if self._channel is None:
            raise MemoryStoreError("a-mem: a store that was opened to be read was asked to add a note.")
        body = {
            "messages": [
                {"role": "system", "content": "You must respond with a JSON object."},
                {"role": "user", "content": prompt},
            ],
            "response_format": {"type": "json_schema", "json_schema": {"name": "response", "schema": bounded(schema)}},
            "temperature": 0.0,
            "max_tokens": MAX_TOKENS,
        }
        told = self._channel.answer(body)["choices"][0]["message"]["content"]
        found = _json_object(str(told))
        if found is not None and not _fits(found, schema):
            self._channel.garbled += 1
            return None
        return found


@contextlib.contextmanager
def _one_write(system: Any) -> Iterator[None]:
    """Write a session's notes at once, without looking for neighbours that the analyser leaves as they are.

    Chroma waits for the disk at every write, and a search embeds the note once more.
    """
    retriever = system.retriever
    collection = retriever.collection
    rows: dict[str, list[Any]] = {"documents": [], "metadatas": [], "ids": []}

    def add(**new: list[Any]) -> None:
        for name, values in new.items():
            rows[name].extend(values)

    system.find_related_memories = lambda *_args, **_options: ("", [])
    retriever.collection = SimpleNamespace(add=add, count=collection.count)
    try:
        yield
    finally:
        retriever.collection = collection
        del system.find_related_memories
    if rows["ids"]:
        collection.add(**rows)


def bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` with every property required, nothing beside them, and lists and texts that end."""
    kind = schema["type"]
    if kind == "object":
        properties = {name: bounded(value) for name, value in schema["properties"].items()}
        return {"type": kind, "properties": properties, "required": list(properties), "additionalProperties": False}
    if kind == "array":
        return {"type": kind, "items": bounded(schema["items"]), "maxItems": LONGEST_LIST}
    return {"type": kind, "maxLength": LONGEST_TEXT} if kind == "string" else dict(schema)


def _fits(value: object, schema: Mapping[str, Any]) -> bool:
    """True when `value` has the schema's types, what it requires, and at least one of an object's properties."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        known = [name for name in value if name in properties]
        complete = bool(known) and all(name in value for name in schema.get("required", ()))
        return schema["type"] == "object" and complete and all(_fits(value[n], properties[n]) for n in known)
    if isinstance(value, list):
        return schema["type"] == "array" and all(_fits(item, schema["items"]) for item in value)
    return isinstance(value, {"boolean": bool, "string": str}.get(str(schema["type"]), ()))


def _json_object(text: str) -> dict[str, Any] | None:
    """The JSON object in `text`, also out of a code block, prose or after a chain of thought, as the channel counts."""
    inner = _THOUGHT.sub("", text)
    try:
        found = json.loads(inner[inner.find("{") : inner.rfind("}") + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _note_id(session: Session, turn: Turn) -> str:
    return f"{quote(session.id, safe='')}/{quote(turn.id, safe='')}"


def _stamp(date: str) -> str:
    return datetime.fromisoformat(date).strftime(_TIME)


def _told(note: Mapping[str, Any]) -> str:
    """A note as the paper's generator reads it: what was said, with context, keywords and tags, on one line."""
    glosses = [
        f"{name}: {text}"
        for name, value in (("context", note["context"]), ("keywords", note["keywords"]), ("tags", note["tags"]))
        if (text := ", ".join(map(str, value)) if isinstance(value, list) else str(value)) not in ("", "General")
    ]
    said = str(note["content"])
    return " ".join((f"{said} [{'; '.join(glosses)}]" if glosses else said).split())
