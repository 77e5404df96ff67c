"""A memory system of our own: one JSON file a store. It can merge, forget, lose its file and ask a model."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_hush.memories.stores.backend import Hit
from pytest_hush.memories.stores.base import StoreMemory
from pytest_hush.memories.stores.channel import Channel
from pytest_hush.model import Context, History, Persona, Prompt, Reply, Session
from pytest_hush.text import words
from tests.unit.memories.histories import PERSONA, PLANTED, session


@dataclass
class Notebook:
    """The `Backend`. What happened is told in `log`; `fail_on` raises while that session is read."""

    name: str = "notebook"
    label: str = "notebook@test"
    version: str = "1"
    settings: Mapping[str, Any] = field(default_factory=dict)
    order_matters: bool = False
    keep: int = 1000
    """Only so many entries: an older one is merged into its neighbour."""
    fail_on: str = ""
    forgets_on_close: bool = False
    stores_nothing: bool = False
    slow_s: float = 0.0
    log: list[str] = field(default_factory=list)
    open_now: int = 0

    def open(self, folder: Path, channel: Channel | None) -> Note:
        self.log.append("open")
        self.open_now += 1
        return Note(self, folder / "notes.json", channel)


class Note:
    def __init__(self, book: Notebook, path: Path, channel: Channel | None) -> None:
        self._book = book
        self._path = path
        self._channel = channel
        self.rows: dict[str, dict[str, str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}

    def ingest(self, session: Session, persona: Persona) -> Mapping[str, Sequence[str]] | None:
        book = self._book
        book.log.append(f"ingest {session.id}")
        time.sleep(book.slow_s)
        if session.id == book.fail_on:
            raise KeyError(session.id)
        if book.stores_nothing:
            return None
        before = set(self.rows)
        for turn in session.turns:
            text = f"{turn.speaker}: {turn.text}" if self._channel is None else self._extracted(turn.text)
            if text:
                self.rows[f"{turn.id}/{len(self.rows)}"] = {"text": text, "date": session.date, "turn": turn.id}
        derived: dict[str, list[str]] = {}
        fresh = set(self.rows) - before
        while len(self.rows) > book.keep:
            oldest, second = list(self.rows)[:2]
            merged = f"{oldest}+{second}"
            row = {**self.rows[oldest], "text": f"{self.rows[oldest]['text']} / {self.rows[second]['text']}"}
            parts = [p for part in (oldest, second) for p in derived.pop(part, [part])]
            derived[merged] = [p for p in parts if p not in fresh]
            del self.rows[oldest], self.rows[second]
            self.rows = {merged: row, **self.rows}
        self._write()
        return derived

    def snapshot(self) -> Mapping[str, str]:
        return {entry: row["text"] for entry, row in self.rows.items()}

    def search(self, question: str, k: int) -> Sequence[Hit]:
        self._book.log.append(f"search {question}")
        asked = set(words(question))
        best = sorted(self.rows.items(), key=lambda item: -len(asked & set(words(item[1]["text"]))))
        return [Hit(entry, row["text"], row["date"]) for entry, row in best[:k]]

    def close(self) -> None:
        self._book.open_now -= 1
        if self._book.forgets_on_close:
            self._path.write_text("{}", "utf-8")

    def _write(self) -> None:
        self._path.write_text(json.dumps(self.rows), "utf-8")

    def _extracted(self, text: str) -> str:
        assert self._channel is not None
        from openai import OpenAI

        with OpenAI(base_url=self._channel.url, api_key=self._channel.token, max_retries=0) as client:
            answer = client.chat.completions.create(
                model="extraction",
                messages=[{"role": "user", "content": text}],
                response_format={"type": "json_object"},
            )
        try:
            return str(json.loads(answer.choices[0].message.content or "")["memory"])
        except ValueError:
            return ""  # as libraries do: the answer is passed over without a word


class Extractor:
    """An extraction model that repeats the turn as a memory, unless `script` says otherwise."""

    name = "scripted/extractor"
    settings: Mapping[str, Any] = {"temperature": 0}

    def __init__(self, script: Any = None) -> None:
        self.calls = 0
        self.closed = 0
        self._script = script

    async def reply(self, prompt: Prompt) -> Reply:
        self.calls += 1
        text = prompt.messages[-1].content
        if self._script is not None:
            return Reply(self._script(text))
        return Reply(json.dumps({"memory": f"noted: {text}"}))

    async def close(self) -> None:
        self.closed += 1


def histories(count: int) -> list[History]:
    """Histories of one persona that differ in the planted session only; each plants after 2 of 3 sessions."""
    return [history(number) for number in range(count)]


def history(number: int, at: int = 2) -> History:
    planted = replace(
        session(f"d{number}-s", PLANTED.date, f"My secret {number} is a quellmire{number}.", "Thank you."),
    )
    sessions = (*PERSONA.sessions[:at], planted, *PERSONA.sessions[at:])
    return History(PERSONA, sessions, None, planted.id, planted.turns[0].id)


def ask(memory: StoreMemory, asked: History, question: str = "bees") -> Context:
    return asyncio.run(memory.context(asked, question))


def close(memory: StoreMemory) -> None:
    asyncio.run(memory.close())
