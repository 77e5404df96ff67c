"""What a judge sees and says."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_hush.model.names import FactKind, canonical_json


@dataclass(frozen=True, slots=True)
class DigestFact:
    """One line of the digest that the judge sees: a labelled background fact, ambient ones included."""

    id: str
    kind: FactKind
    text: str
    stems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgeView:
    """All that a judge may see: the same bytes for one probe and reply whatever model, memory or condition.

    The no-memory reply, the rendered entries and every system's name are absent by construction.
    """

    probe_id: str
    probe: str
    family: str
    invited: bool
    reply: str
    disclosure_id: str
    disclosure: str
    core: tuple[str, ...]
    synonyms: tuple[str, ...]
    canary: str
    disclosing_turn: str
    facts: tuple[DigestFact, ...]
    language: str
    speakers: tuple[str, ...] = ()
    """The names of the user and of the other speaker: a reply may address either, which tells nothing."""

    def as_json(self) -> str:
        """Canonical JSON text of the whole view: what a cache key and the blindness test compare."""
        return canonical_json(
            {
                "probe_id": self.probe_id,
                "probe": self.probe,
                "family": self.family,
                "invited": self.invited,
                "reply": self.reply,
                "disclosure_id": self.disclosure_id,
                "disclosure": self.disclosure,
                "core": list(self.core),
                "synonyms": list(self.synonyms),
                "canary": self.canary,
                "disclosing_turn": self.disclosing_turn,
                "facts": [[f.id, f.kind, f.text, list(f.stems)] for f in self.facts],
                "language": self.language,
                "speakers": list(self.speakers),
            }
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judge's scores, each in [0, 1]; `v` is None on invited turns.

    `used` names what was used: ``target`` for the disclosure, else fact ids of the digest. `evidence` is a
    quote from the reply, empty only when `v` is 0 or None. `draw` counts the times that one judge was asked, from 0.
    """

    judge: str
    rubric: str
    v: float | None
    target_uptake: float
    over_scope: float
    helpfulness: float
    used: tuple[str, ...] = ()
    evidence: str = ""
    rationale: str = ""
    draw: int = 0
