"""A model that answers A-Mem's own two prompts: one that describes a note, one that lets it evolve its neighbours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_hush.errors import ModelError
from pytest_hush.model import Prompt, Reply, Usage

Answer = dict[str, Any]


@dataclass(frozen=True)
class Neighbour:
    id: str
    content: str
    context: str
    tags: list[str]


Evolve = Callable[[str, list[Neighbour]], Answer]
"""The decision for a new note's content beside its neighbours."""


def described(content: str) -> Answer:
    return {"keywords": content.lower().split()[-2:], "context": f"About: {content[:20]}", "tags": ["talk"]}


def still(content: str, neighbours: list[Neighbour]) -> Answer:
    return evolution()


def evolution(
    *actions: str,
    links: list[str] | None = None,
    tags: list[str] | None = None,
    neighbours: list[Neighbour] | None = None,
) -> Answer:
    """An answer with `actions`; `neighbours` are the neighbours as they are to be, in the order given."""
    return {
        "should_evolve": bool(actions),
        "actions": list(actions),
        "suggested_connections": links or [],
        "tags_to_update": tags or [],
        "new_context_neighborhood": [n.context for n in neighbours or ()],
        "new_tags_neighborhood": [n.tags for n in neighbours or ()],
    }


class Noting:
    name = "scripted/noting"
    settings: Mapping[str, Any] = {"temperature": 0}

    def __init__(self, evolve: Evolve = still, *, answer: Callable[[int], str | None] | None = None) -> None:
        """`answer` gives the text of the n-th call (from 0) in place of the script's, or None."""
        self.prompts: list[Prompt] = []
        self._evolve = evolve
        self._answer = answer

    async def reply(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        own = self._answer(len(self.prompts) - 1) if self._answer is not None else None
        if own is not None:
            return Reply(own)
        text = prompt.messages[-1].content
        told = self._evolve(new_note(text), neighbours(text)) if evolves(text) else described(analysed(text))
        return Reply(json.dumps(told), usage=Usage(100, 10))


class Down(Noting):
    async def reply(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        raise ModelError("scripted/noting: nothing listens there")


class Bounded(Noting):
    """A model that can keep to a schema."""

    def __init__(self) -> None:
        super().__init__()
        self.schemas: list[Mapping[str, Any]] = []

    async def reply_json(self, prompt: Prompt, schema: Mapping[str, Any]) -> Reply:
        self.schemas.append(schema)
        return await self.reply(prompt)


def evolves(prompt: str) -> bool:
    return "memory evolution agent" in prompt


def analysed(prompt: str) -> str:
    return prompt.partition("Content for analysis:")[2].strip()


def new_note(prompt: str) -> str:
    found = re.search(r"^\s*content: (.*)$", prompt, re.MULTILINE)
    assert found is not None
    return found.group(1)


def neighbours(prompt: str) -> list[Neighbour]:
    rows = re.findall(
        r"memory_id:(\S+)\ttalk start time:\d+\tmemory content: (.*?)\tmemory context: (.*?)"
        r"\tmemory keywords: .*?\tmemory tags: (.*)",
        prompt,
    )
    return [Neighbour(note, content, context, re.findall(r"'([^']*)'", tags)) for note, content, context, tags in rows]
