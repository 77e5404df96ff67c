"""What a run measures and what passes through it: conditions, cases, contexts, prompts, replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pytest_hush.model.names import CaseKind


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

    @property
    def boundary(self) -> bool:
        """True with ``+boundary``: the generator is told the boundary policy."""
        return BOUNDARY in self.modifiers

    @property
    def shared(self) -> bool:
        """True with ``+shared``: all disclosures of a persona stand in one history, not each in its own."""
        return SHARED in self.modifiers

    @property
    def revoked(self) -> bool:
        """True with ``+revoked``: after the disclosure the user withdraws it, in a session of its own."""
        return REVOKED in self.modifiers

    @property
    def guarded(self) -> bool:
        """True with ``+guard``: permission gates stand around the memory."""
        return GUARD in self.modifiers

    @property
    def told(self) -> Condition:
        """The condition before anything was withdrawn: whether the plant was ever there is asked of this one."""
        left = tuple(m for m in self.modifiers if m != REVOKED)
        return Condition("+".join((self.base, *left)), self.base, left)

    @property
    def unguarded(self) -> Condition:
        """The condition behind the guard: what is retrieved there is retrieved once for both."""
        left = tuple(m for m in self.modifiers if m not in (GUARD, BOUNDARY))
        return Condition("+".join((self.base, *left)), self.base, left)

    @property
    def memory(self) -> str:
        """The name without ``+boundary``: what decides the context, which conditions of one memory share."""
        return "+".join((self.base, *(m for m in self.modifiers if m != BOUNDARY)))


BOUNDARY: Final = "boundary"
SHARED: Final = "shared"
REVOKED: Final = "revoked"
GUARD: Final = "guard"
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
