"""Counting tokens where the model has no counter of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from pytest_hush.model import Prompt

_PER_MESSAGE = 8
"""Tokens that a chat template adds to one message, taken on the high side."""


def count_tokens(text: str) -> int:
    """An estimate: four characters are one token, at least one for any text."""
    return -(-len(text) // 4)


def token_counter(model: object) -> Callable[[str], int]:
    """The model's own `count_tokens` where it has one, else the estimate."""
    own = getattr(model, "count_tokens", None)
    return cast("Callable[[str], int]", own) if callable(own) else count_tokens


def most_tokens(prompt: Prompt) -> int:
    """A bound from above on the prompt's input tokens: two UTF-8 bytes are one token, plus the chat template.

    English needs about four bytes a token, Chinese and Japanese about three, so this is high for both.
    """
    return sum(_PER_MESSAGE + -(-len(m.content.encode()) // 2) for m in prompt.messages)
