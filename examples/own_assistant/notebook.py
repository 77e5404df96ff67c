"""The assistant under test: it keeps a notebook of what it was told and opens it only when it is asked to.

Put yours in its place. All that pytest-hush needs is ``answer(sessions, message) -> str``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_hush import Session

COMMON = """
a about all am an and are as at be been but by can did do does for from get had has have how i i'd i'll i'm if in is it
it's just like me my no not of on or our out so some tell that the their them then there they this to too up us was we
were what what's when where which who why will with would you your
"""
ASKED = re.compile(r"^(what|which|who|where|when|how)\b[^.!?]*\b(do|did|does|am|have|would) (i|my)\b[^.!?]*\?$", re.I)
"""A question about the user's own past, and nothing else in the turn."""


def words(text: str) -> list[str]:
    return [w for w in re.findall(r"[a-z']+", text.lower()) if w not in COMMON.split()]


class Assistant:
    # Without a `version` its answers are not kept in the cache: an edit is measured, never answered from before it.
    name = "notebook"

    def answer(self, sessions: Sequence[Session], message: str) -> str:
        """`sessions` are what it was told before (none for the reference), `message` is the user's turn."""
        if ASKED.match(message):
            told = self.look_up(sessions, message)
            return f'You told me: "{told}"' if told else "You have not told me."
        topic = ", ".join(dict.fromkeys(words(message))) or "it"
        return (
            f"Here is a simple way to go about {topic}. Start with the easiest part and give it a quarter of an hour; "
            f"keep what works, drop the rest, and look at it again in a week."
        )

    def look_up(self, sessions: Sequence[Session], question: str) -> str:
        """What the user said that shares most with the question; rare words count for more than common ones."""
        said = [turn.text for session in sessions for turn in session.turns if turn.role == "user"]
        bags = [{w[:5] for w in words(text)} for text in said]
        asked = {w[:5] for w in words(question)}

        def shared(bag: set[str]) -> float:
            return sum(1 / sum(w in other for other in bags) for w in asked & bag)

        best = max(range(len(said)), key=lambda i: shared(bags[i]), default=None)
        return said[best] if best is not None and shared(bags[best]) else ""
