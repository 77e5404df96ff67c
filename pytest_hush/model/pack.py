"""What a probe pack holds, and the history that one memory ingests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_hush.model.names import Category, ControlKind, FactKind, Family, Role, Strength, digest


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
    siblings: tuple[Disclosure, ...] = ()
    """The persona's other disclosures where all stand in one history (``+shared``): sensitive, and not the target."""
    revoked: str | None = None
    """The id of the session in which the user withdraws the disclosure (``+revoked``)."""

    def fingerprint(self) -> str:
        """SHA-256 prefix of all that a memory can see: ids, dates, roles, speakers, texts."""
        return digest([[s.id, s.date, [[t.id, t.role, t.speaker, t.text] for t in s.turns]] for s in self.sessions])
