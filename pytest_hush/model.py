"""The vocabulary of the protocol: frozen values that every floor shares. No I/O, no third-party import.

Source of the terms: HUSH-Bench (arXiv 2606.06055) and ``docs/reference/protocol.md``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Family = Literal[
    "attitude_reversal",
    "mild_complaint_escalation",
    "disengagement_request",
    "casual_sensitive_lure",
]
Category = Literal[
    "illness",
    "reproductive_health",
    "mental_illness",
    "addiction",
    "abuse_or_trauma",
    "identity_or_sexuality",
    "debt",
    "relationship_breakdown",
    "grief",
    "legal_or_immigration",
]
Strength = Literal["strong", "medium", "weak"]
Role = Literal["user", "assistant"]
FactKind = Literal["benign", "ambient"]
ControlKind = Literal["neutral", "irrelevant-sensitive", "oracle"]
CaseKind = Literal["probe", "control"]
Status = Literal["ok", "unscored", "error", "unplanted", "withheld"]

FAMILIES: Final[tuple[Family, ...]] = (
    "attitude_reversal",
    "mild_complaint_escalation",
    "disengagement_request",
    "casual_sensitive_lure",
)
CATEGORIES: Final[tuple[Category, ...]] = (
    "illness",
    "reproductive_health",
    "mental_illness",
    "addiction",
    "abuse_or_trauma",
    "identity_or_sexuality",
    "debt",
    "relationship_breakdown",
    "grief",
    "legal_or_immigration",
)
STRENGTHS: Final[tuple[Strength, ...]] = ("strong", "medium", "weak")
MEASURED: Final[frozenset[str]] = frozenset({"ok", "withheld"})
"""Statuses whose record carries a score; every other status counts as missing."""

DEMONSTRATION_MODELS: Final[frozenset[str]] = frozenset({"local", "parrot", "recorded"})
"""Providers whose results never stand for a release (``release`` mode refuses them)."""


def canonical_json(value: object) -> str:
    """One text per JSON value: sorted keys, no blanks, non-ASCII kept, NaN refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object, length: int = 32) -> str:
    """The first `length` hex digits of the SHA-256 of `canonical_json(value)`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


# ---- what a pack holds ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. `role` is ``user`` for the persona and ``assistant`` for the other speaker."""

    id: str
    role: Role
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Session:
    """A dated stretch of dialogue. `date` is ISO 8601 to the minute, local to the persona."""

    id: str
    date: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled fact of the background; ``ambient`` ones are sensitive and carry their `category`."""

    id: str
    kind: FactKind
    text: str
    turn: str
    stems: tuple[str, ...]
    category: str | None = None


@dataclass(frozen=True, slots=True)
class SessionFact:
    """A harmless fact told in a planted session: tells a lost session from a withheld disclosure."""

    text: str
    question: str
    answer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disclosure:
    """One planted, traceable sensitive statement. `position` is 0.3 or 0.8 of the history."""

    id: str
    persona: str
    category: Category
    strength: Strength
    position: float
    statement: str
    core: tuple[str, ...]
    synonyms: tuple[str, ...]
    bridge: tuple[str, ...]
    canary: str
    question: str
    constraints: tuple[str, ...]
    session_id: str
    turn_id: str
    turns: tuple[Turn, ...]
    session_fact: SessionFact


@dataclass(frozen=True, slots=True)
class Probe:
    """A benign single-turn request, answerable without the disclosure (paper section 3)."""

    id: str
    persona: str
    disclosure: str
    family: Family
    domain: str
    text: str


@dataclass(frozen=True, slots=True)
class Control:
    """A control memory for one disclosure, rendered instead of retrieved entries."""

    id: str
    disclosure: str
    kind: ControlKind
    text: str
    category: str | None = None


@dataclass(frozen=True, slots=True)
class PositiveControl:
    """A direct question about a harmless fact; a memory works when one entry holds all `answer` stems."""

    id: str
    persona: str
    question: str
    fact: str
    answer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Invitation:
    """The invited twin of a probe: its text, a space, and a generic line."""

    id: str
    probe: str
    line: str


@dataclass(frozen=True, slots=True)
class Persona:
    """One cluster: a user with a background dialogue, oldest session first."""

    id: str
    name: str
    partner: str
    about: str
    sessions: tuple[Session, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Pack:
    """A validated probe pack. Orders are those of the files; `hash` covers every data file."""

    name: str
    version: str
    title: str
    language: str
    licence: str
    private: bool
    hash: str
    personas: tuple[Persona, ...]
    disclosures: tuple[Disclosure, ...]
    probes: tuple[Probe, ...]
    invitations: tuple[Invitation, ...]
    invitation_lines: Mapping[str, str]
    controls: tuple[Control, ...]
    positive_controls: tuple[PositiveControl, ...]
    background: Mapping[str, str] = field(default_factory=dict)
    """Empty, or ``format``, ``sha256``, ``licence`` of the third-party dialogue it was planted into."""
    ambient_labelled: bool = True
    """False when nobody labelled the background's own sensitive turns: the ambient flag is then unknown."""


@dataclass(frozen=True, slots=True)
class History:
    """What one memory ingests: a persona's sessions with the planted one in its place.

    `planted` and `planted_turn` are ids in `sessions`; both None for the background alone.
    """

    persona: Persona
    sessions: tuple[Session, ...]
    disclosure: Disclosure | None
    planted: str | None = None
    planted_turn: str | None = None
    ambient_labelled: bool = True

    def fingerprint(self) -> str:
        """SHA-256 prefix of all that a memory can see: ids, dates, roles, speakers, texts."""
        return digest([[s.id, s.date, [[t.id, t.role, t.speaker, t.text] for t in s.turns]] for s in self.sessions])


# ---- what a run does ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """What the generator sees besides the probe: a base memory and modifiers, ``mem0+guard+boundary``."""

    name: str
    base: str
    modifiers: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Split ``base+modifier+…``; blanks around names are dropped. Names are not looked up here."""
        parts = [p.strip() for p in text.split("+")]
        return cls("+".join(parts), parts[0], tuple(parts[1:]))


NONE: Final = Condition("none", "none")
"""The matched no-memory reference: always part of a plan."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure. ``control`` cases put a positive control's question instead of a probe.

    `id` is short, stable, and unique in a plan; it is the pytest parameter id.
    """

    kind: CaseKind
    probe_id: str
    text: str
    persona: str
    condition: Condition
    model: str
    disclosure_id: str | None = None
    family: str = ""
    category: str = ""
    strength: str = ""
    position: float | None = None
    repeat: int = 0
    invited: bool = False

    @property
    def id(self) -> str:
        tail = ("-invited" if self.invited else "") + (f"-r{self.repeat}" if self.repeat else "")
        return f"{self.model}-{self.condition.name}-{self.probe_id}{tail}"

    @property
    def pair(self) -> tuple[str, str, bool, int]:
        """What pairs this case with its twin in a baseline: (probe_id, condition, invited, repeat)."""
        return (self.probe_id, self.condition.name, self.invited, self.repeat)


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory entry exactly as rendered to the generator.

    `sources` are the session ids that it derives from (from the ledger); `turns` the turn ids where the
    memory keeps turns whole, else empty. `sources` None: the memory does not say, exposure is unknown.
    """

    id: str
    text: str
    sources: tuple[str, ...] | None
    turns: tuple[str, ...] = ()
    date: str = ""


@dataclass(frozen=True, slots=True)
class Exposure:
    """The three flags of the protocol; None where the system reports no context or nobody labelled it.

    exact: a rendered entry derives from the planted session. residue: the canary or two core stems stand in
    an entry that lacks the session's id. ambient: another sensitive turn of the background is rendered.
    """

    exact: bool | None = None
    residue: bool | None = None
    ambient: bool | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What a memory gave for one question. `known` False: a closed assistant that shows no context.

    `label` is the condition as measured (``full-context@3584``); `notes` are facts worth recording.
    """

    entries: tuple[Entry, ...] = ()
    known: bool = True
    label: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything the generator is given. `max_tokens` bounds the output; temperature is per call.

    `entries` repeats the rendered memory as data, for generators that are instruments (the parrot): it is
    part of no request to a real model.
    """

    messages: tuple[Message, ...]
    max_tokens: int = 800
    temperature: float = 0.0
    seed: int = 0
    repeat: int = 0
    entries: tuple[Entry, ...] = ()

    def request(self) -> dict[str, Any]:
        """The JSON of what a real model is asked: the part of a cache key that the prompt decides."""
        return {
            "messages": [[m.role, m.content] for m in self.messages],
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "repeat": self.repeat,
        }


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, and its price in US dollars (None: the price is not known, never guessed)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A generator's answer. `attempts` counts requests sent, `latency_s` the last one's seconds."""

    text: str
    returned_model: str = ""
    usage: Usage = Usage()
    latency_s: float = 0.0
    attempts: int = 1
    notes: tuple[str, ...] = ()


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
            }
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judge's scores, each in [0, 1]; `v` is None on invited turns.

    `used` names what was used: ``target`` for the disclosure, else fact ids of the digest. `evidence` is a
    quote from the reply, empty only when `v` is 0 or None.
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


@dataclass(frozen=True, slots=True)
class Record:
    """One measured case, one line of JSON (``docs/reference/record.md``). Field order is the file's."""

    key: str
    plan_hash: str
    kind: CaseKind
    probe_id: str
    disclosure_id: str | None
    persona: str
    family: str
    category: str
    strength: str
    position: float | None
    condition: str
    model: str
    repeat: int
    invited: bool
    status: Status
    exposure: Exposure
    entries: tuple[Entry, ...]
    reply: str
    judgements: tuple[Judgement, ...]
    usage: Usage
    latency_s: float
    attempts: int
    instrument: Mapping[str, Any]
    subject: Mapping[str, Any]
    error: str = ""
    control: Mapping[str, bool | None] | None = None
    """For a positive control: ``retrieved`` and ``used``, each True, False or None (unknown)."""
    notes: tuple[str, ...] = ()
    schema: int = 1

    @property
    def measured(self) -> bool:
        """True when the case carries a score: ``ok`` or ``withheld``."""
        return self.status in MEASURED

    @property
    def identity(self) -> tuple[str, str, str, bool, int]:
        """(model, condition, probe_id, invited, repeat): one case of the plan."""
        return (self.model, self.condition, self.probe_id, self.invited, self.repeat)
