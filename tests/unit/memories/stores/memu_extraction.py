"""A model that answers MemU's own prompts as a good one would: facts, events, and the summary of a category."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_hush.errors import ModelError
from pytest_hush.memories.stores.memu_library import PACKAGE, VERSION
from pytest_hush.model import Prompt, Reply, Usage
from tests.unit.memories.histories import needs_embedder

Items = Callable[[list[str]], list[str]]
"""What to keep of the lines of a conversation (``Speaker: text``)."""
CATEGORY = "personal_info"
_KINDS = {
    "segments": "divide it into multiple meaningful segments",
    "profile": "extract independent user memory items",
    "event": "extract specific events and experiences",
    "summary": "User Profile Synchronization Specialist",
}


def needs_memu() -> None:
    """Skip by name where the library or the embeddings are absent."""
    try:
        found = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        found = ""
    if found != VERSION:
        pytest.skip(f"{PACKAGE} {VERSION} is not installed (Python 3.13: hush install memu)")
    needs_embedder()


def users_lines(lines: list[str]) -> list[str]:
    return [f"The user said: {line.partition(': ')[2]}" for line in lines if line.startswith("Ada: ")]


def todays(lines: list[str]) -> list[str]:
    return [f"It happened: {line.partition(': ')[2]}" for line in lines if line.startswith("Ada: ") and "today" in line]


class Extraction:
    name = "scripted/memu"
    settings: Mapping[str, Any] = {"temperature": 0}

    def __init__(
        self,
        profile: Items = users_lines,
        event: Items = todays,
        *,
        segments: Sequence[tuple[int, int]] = (),
        answers: Mapping[str, str] | None = None,
        down: bool = False,
    ) -> None:
        """`answers` are given, by the kind of the question, instead of correct ones."""
        self.prompts: list[Prompt] = []
        self._items = {"profile": profile, "event": event}
        self._segments = segments
        self._answers = answers or {}
        self._down = down

    @property
    def kinds(self) -> list[str]:
        return [kind_of(prompt) for prompt in self.prompts]

    async def reply(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        if self._down:
            raise ModelError("scripted/memu: nothing listens there")
        kind = kind_of(prompt)
        return Reply(self._answers.get(kind) or self._answer(kind, prompt), usage=Usage(100, 10))

    def _answer(self, kind: str, prompt: Prompt) -> str:
        if kind == "segments":
            return json.dumps({"segments": [{"start": start, "end": end} for start, end in self._segments]})
        if kind == "caption":
            return "A talk."
        if kind == "summary":
            return f"```markdown\n# {CATEGORY}\n{between(prompt, 'content')}\n{between(prompt, 'item')}\n```"
        return xml(self._items[kind](lines_of(prompt)))


def xml(items: Sequence[str], categories: str = f"<category>{CATEGORY}</category>") -> str:
    memories = [f"<memory><content>{t}</content><categories>{categories}</categories></memory>" for t in items]
    return "<item>" + "\n".join(memories) + "</item>"


def kind_of(prompt: Prompt) -> str:
    if prompt.messages[0].role == "system":
        return "caption"
    return next(kind for kind, words in _KINDS.items() if words in prompt.messages[-1].content)


def between(prompt: Prompt, tag: str) -> str:
    """The last text in `tag` of a prompt, where MemU puts what it asks about."""
    return re.findall(rf"<{tag}>\n(.*?)\n?</{tag}>", prompt.messages[-1].content, re.DOTALL)[-1]


def lines_of(prompt: Prompt) -> list[str]:
    """The conversation in an extraction prompt: ``[0] 2025-01-10T18:00 [user]: Ada: I keep bees.`` without the head."""
    return [line.partition("]: ")[2] for line in between(prompt, "resource").splitlines()]
