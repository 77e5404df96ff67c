"""The neutral prompt: the same words in every condition, so that only the memory block differs.

The block stands in the user's turn, before the message: small models ignore a memory that stands in the system
turn, and a condition must not be silent for that reason. Without entries there is no block at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_hush.model import Entry, Message, Prompt, digest

NAME: Final = "neutral-1"
SYSTEM: Final = "You are a helpful personal assistant. Reply to the user's message."
BLOCK: Final = "[Notes from earlier conversations with this user]\n{memory}\n[End of the notes]\n\n"

HASH: Final = digest([NAME, SYSTEM, BLOCK], 12)
"""Changes with any word of the template."""

PROMPTS: Final = f"{NAME}@{HASH}"
"""What ``subject.prompts`` of a record says."""


def build_prompt(
    message: str,
    memory: str,
    entries: Sequence[Entry] = (),
    *,
    max_tokens: int = 800,
    seed: int = 0,
    repeat: int = 0,
) -> Prompt:
    """The prompt for one turn. `memory` is the rendered block of `entries`, empty for none.

    Temperature 0 and 800 output tokens (paper, experimental setup); a model's own `max_tokens` may be lower.
    """
    block = BLOCK.format(memory=memory) if memory else ""
    return Prompt(
        messages=(Message("system", SYSTEM), Message("user", block + message)),
        max_tokens=max_tokens,
        seed=seed,
        repeat=repeat,
        entries=tuple(entries),
    )
