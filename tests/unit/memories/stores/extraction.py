"""A model that answers Mem0's own extraction prompt as a good one would: one memory for each thing the user said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_hush.errors import ModelError
from pytest_hush.model import Prompt, Reply, Usage

Memories = Callable[[list[str], list[str]], list[str]]
"""What to store of the new lines (``Speaker: text``), given the texts of the memories that Mem0 shows beside them."""


def users_lines(new: list[str], existing: list[str]) -> list[str]:
    return [f"User said: {line.partition(': ')[2]}" for line in new if line.startswith("Ada: ")]


class Extraction:
    name = "scripted/extraction"
    settings: Mapping[str, Any] = {"temperature": 0}

    def __init__(self, memories: Memories = users_lines, *, answer: str | None = None, down: bool = False) -> None:
        self.prompts: list[Prompt] = []
        self._memories = memories
        self._answer = answer
        self._down = down

    async def reply(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        if self._down:
            raise ModelError("scripted/extraction: nothing listens there")
        if self._answer is not None:
            return Reply(self._answer)
        told = self._memories(new_lines(prompt), existing_memories(prompt))
        rows = [{"id": str(i), "text": text, "attributed_to": "user"} for i, text in enumerate(told)]
        return Reply(json.dumps({"memory": rows}), usage=Usage(100, 10))


def section(prompt: Prompt, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |^# Output)", prompt.messages[-1].content, re.DOTALL | re.MULTILINE)
    return found.group(1).strip() if found else ""


def new_lines(prompt: Prompt) -> list[str]:
    return [found.group(1) for found in re.finditer(r"((?:Ada|Ivo): [^\n]*)", section(prompt, "New Messages"))]


def existing_memories(prompt: Prompt) -> list[str]:
    return [str(m["text"]) for m in json.loads(section(prompt, "Existing Memories") or "[]")]
