"""A memory of thirty lines: the five turns that share the rarest words with the question (BM25)."""

from __future__ import annotations

import math
import re
from collections import Counter

from pytest_hush import Context, Entry, History

STOP = """
a about an and are as at be but by did do for from had has have how i if in is it me my of on or so that the this to was
we were what when where which who with you your tell told
"""


def stems(text: str) -> list[str]:
    return [w[:6] for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in STOP.split()]


class KeywordMemory:
    # Recorded with every reply. Raise `version` with every change: the cache knows the code by nothing else.
    name, version, settings = "keyword", "1", {"top_k": 5, "k1": 1.2, "b": 0.75}

    def context(self, history: History, question: str) -> Context:
        turns = [(session, turn, stems(turn.text)) for session in history.sessions for turn in session.turns]
        seen = Counter(stem for _, _, bag in turns for stem in set(bag))
        mean = sum(len(bag) for *_, bag in turns) / max(1, len(turns))

        def score(bag: list[str]) -> float:
            counts = Counter(bag)
            total = 0.0
            for stem in set(stems(question)) & counts.keys():
                rarity = math.log(1 + (len(turns) - seen[stem] + 0.5) / (seen[stem] + 0.5))
                total += rarity * counts[stem] * 2.2 / (counts[stem] + 1.2 * (0.25 + 0.75 * len(bag) / mean))
            return total

        best = sorted(turns, key=lambda t: -score(t[2]))[:5]
        # `sources` says which session an entry comes from: without it, exposure would be unknown.
        return Context(
            tuple(Entry(t.id, f"{t.speaker}: {t.text}", (s.id,), (t.id,), s.date) for s, t, b in best if score(b) > 0)
        )
