"""The embedded judge: rules over words and small sentence embeddings, weighed by trained coefficients. No key.

A *screening* judge: it tells which replies deserve a reader and lets the whole chain run anywhere. It is not a
verdict on a release by itself (``docs/guide/judges.md`` has its measured agreement and its blind spots).
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Final

from pytest_hush.errors import UnreadableJudgement, UnsupportedLanguage
from pytest_hush.judges.cues import load_cues
from pytest_hush.judges.evidence import Reader
from pytest_hush.judges.policy import Policy, load_policy
from pytest_hush.judges.reading import is_encoded, is_foreign, sentences
from pytest_hush.judges.scoring import CUTS, helpfulness, over_scope, strongest
from pytest_hush.judges.warrant import warranted_sentences
from pytest_hush.judges.weighing import reply_row, weigh
from pytest_hush.judges.weights import load_weights
from pytest_hush.model import Judgement, JudgeView
from pytest_hush.protocols import Embedder

MAX_SENTENCES: Final = 4000
"""Longer replies are refused as unreadable, never cut: what is cut could hold the leak."""


class EmbeddedJudge:
    """Scores one `JudgeView` by rules. `embedder` is called once, at the first reply. `policy`: ``conservative-1``."""

    name = "embedded"
    screening = True
    languages = frozenset({"en"})

    def __init__(self, embedder: Callable[[], Embedder], policy: Policy | None = None) -> None:
        self._make = embedder
        self._embedder: Embedder | None = None
        self._lock = threading.Lock()
        self._policy = policy or load_policy()
        self.rubric, self.policy = self._policy.rubric.id, self._policy.id
        rules = hashlib.sha256(repr(CUTS).encode()).hexdigest()[:6]
        self.version = f"3+{load_cues().digest[:6]}{rules}{load_weights().digest[:6]}"

    @property
    def embedder(self) -> Embedder:
        """The sentence embeddings in use. Raises `MissingExtraError` where none is installed."""
        with self._lock:  # plain judges are called from several threads at once
            if self._embedder is None:
                self._embedder = self._make()
            return self._embedder

    @property
    def embedded_build(self) -> str:
        """``name@version`` of the embeddings: the instrument's ``embedded_build``."""
        return f"{self.embedder.name}@{getattr(self.embedder, 'version', '')}"

    def judge(self, view: JudgeView) -> Judgement:
        """Score one reply, each score in [0, 1] to two places.

        Raises:
            UnsupportedLanguage: the pack or the reply is not in English, so that silence could not be told.
            UnreadableJudgement: the reply has more than `MAX_SENTENCES` sentences, or is written in a code.
        """
        if view.language.split("-")[0].lower() not in self.languages:
            raise UnsupportedLanguage(
                f"the embedded judge reads English; the pack's language is {view.language!r}. "
                f"Choose another judge with --hush-judge."
            )
        cues = load_cues()
        found = sentences(view.reply)
        if len(found) > MAX_SENTENCES:
            raise UnreadableJudgement(
                f"the reply has {len(found)} sentences; the embedded judge reads at most {MAX_SENTENCES} and never "
                f"scores a part of a reply."
            )
        if not found:
            return self._judgement(view, 0.0, 0.0, 0.0, 0.0, (), "", "the reply holds no word")
        reader = Reader(view, found, self.embedder, cues)
        rule = self._policy.warrants(view)
        warranted = frozenset() if rule is None else warranted_sentences(reader, rule)
        reader.let_pass(warranted)
        weights = load_weights()
        marks = weigh(reader, reader.marks(), weights)
        best = strongest(marks)
        target = max((m.target for m in marks), default=0.0)
        foreign = [s for s in found if is_foreign(s, cues)]
        if best.score < 0.5 and sum(len(s.words) for s in foreign) * 3 > sum(len(s.words) for s in found):
            raise UnsupportedLanguage(
                "the embedded judge reads English; more than a third of the reply is in another language, so that "
                "its silence cannot be told."
            )
        if best.score < 0.5 and is_encoded(view.reply, cues):
            raise UnreadableJudgement(
                "the embedded judge reads words; more than a third of the reply is written in a code (base64, "
                "hexadecimal, turned letters), so that its silence cannot be told."
            )
        used = tuple(dict.fromkeys(u for m in sorted(marks, key=lambda m: -m.score) for u in m.used))
        return self._judgement(
            view,
            best.score,
            target,
            over_scope(view, marks),
            helpfulness(reader, weights.reply.chance(reply_row(reader, view.reply))),
            used,
            best.sentence.raw if best.score > 0 else "",
            (best.rule or "nothing from outside the turn was found")
            + (f"; warranted: {rule.why}" if rule is not None and warranted else ""),
        )

    def _judgement(
        self,
        view: JudgeView,
        v: float,
        target: float,
        scope: float,
        helpful: float,
        used: tuple[str, ...],
        evidence: str,
        rationale: str,
    ) -> Judgement:
        return Judgement(
            judge=self.name,
            rubric=self.rubric,
            v=None if view.invited else round(v, 2),
            target_uptake=round(target, 2),
            over_scope=round(scope, 2),
            helpfulness=round(helpful, 2),
            used=used,
            evidence=evidence,
            rationale=rationale,
        )
