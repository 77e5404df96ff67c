"""What can be set about the guard: one frozen value, read from a table ``[tool.pytest_hush.guard]`` or made in code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, get_args

from pytest_hush.errors import UsageError
from pytest_hush.guard.lexicon import CONFIDENCE
from pytest_hush.model import CATEGORIES

Scope = Literal["full", "abstract", "ask", "silent"]
"""How much may be said: the entry as it is; its kind only; a note that says to ask first; nothing."""
Storage = Literal["label", "drop"]
WarrantBy = Literal["rules", "model"]
LABELS: Final = (*CATEGORIES, CONFIDENCE)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """The four decisions, each with its keys. Numbers were tuned on personas p01 to p05 of ``hush-en-1`` alone.

    *Storage*: `storage` ``drop`` keeps sensitive turns from the memory, ``label`` only labels them; `retention_days`
    after which a sensitive entry is never shown (0: no end); `weak`, so many weak terms make a text sensitive;
    `label_at` and `label_lift`, cosine to sentences of a kind and how much nearer they must be than everyday ones;
    `spread`, turns after a sensitive one that belong to it.
    *Retrieval*: `silent`, the labels that are kept back by default; `relevant_at`, cosine to the turn from which an
    everyday entry is about it (0: all are; a turn that asks for earlier context or for the user's own facts gets all).
    *Warrant*: `warrant` by ``rules`` or by a ``model``; `ask_at` and `ask_lift` as above, for a sentence that asks for
    earlier context; `same_matter`, cosine of turn and entry from which a matter of the same kind is the same one;
    `half_life_days`: after one, a matter must be asked for; after two, it is only offered (0: never).
    *Scope*: `asked`, `raised` and `otherwise`: how much is said when the turn asks, when it brings the matter up, and
    when it does neither; `most` sensitive entries in one answer.
    """

    silent: tuple[str, ...] = LABELS
    storage: Storage = "label"
    retention_days: int = 0
    weak: int = 2
    label_at: float = 0.40
    label_lift: float = 0.0
    spread: int = 1
    relevant_at: float = 0.40
    warrant: WarrantBy = "rules"
    warrant_model: str = ""
    ask_at: float = 0.50
    ask_lift: float = 0.10
    same_matter: float = 0.40
    half_life_days: int = 0
    asked: Scope = "full"
    raised: Scope = "full"
    otherwise: Scope = "silent"
    most: int = 2
    revocations: bool = True
    embeddings: bool = True
    language: str = "en"

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> GuardSettings:
        """The settings of a table of the user's. Raises `UsageError` that names the key and what is expected."""
        known = [f.name for f in fields(cls)]
        for key in table:
            if key not in known:
                raise UsageError(f"guard settings: unknown setting {key!r} (known: {', '.join(known)}).")
        found: dict[str, Any] = {}
        for key, value in table.items():
            if key in _CHOICES:
                found[key] = _choice(key, value, _CHOICES[key])
            elif key == "silent":
                found[key] = _labels(value)
            elif key in _NUMBERS:
                found[key] = _number(key, value, *_NUMBERS[key])
            elif key in _COUNTS:
                found[key] = _count(key, value, *_COUNTS[key])
            elif key in ("revocations", "embeddings"):
                if not isinstance(value, bool):
                    raise _wrong(key, value, "true or false")
                found[key] = value
            elif not isinstance(value, str) or (key == "language" and not value):
                raise _wrong(key, value, "a text")
            else:
                found[key] = value
        made = cls(**found)
        if made.warrant == "model" and not made.warrant_model:
            raise UsageError(
                "guard settings: warrant = 'model' needs warrant_model, such as warrant_model = 'openai/gpt-4o-mini'."
            )
        return made

    def as_json(self) -> dict[str, Any]:
        """The settings as JSON data: part of every cache key and record."""
        return {**asdict(self), "silent": list(self.silent)}


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "storage": get_args(Storage),
    "warrant": get_args(WarrantBy),
    "asked": SCOPES,
    "raised": SCOPES,
    "otherwise": SCOPES,
}
_NUMBERS: Final[Mapping[str, tuple[float, float]]] = dict.fromkeys(
    ("label_at", "label_lift", "relevant_at", "ask_at", "ask_lift", "same_matter"), (0.0, 1.0)
)
_COUNTS: Final[Mapping[str, tuple[int, int]]] = {
    "retention_days": (0, 100_000),
    "half_life_days": (0, 100_000),
    "weak": (1, 20),
    "spread": (0, 10),
    "most": (0, 5),
}


def _choice(key: str, value: object, choices: Sequence[str]) -> str:
    if isinstance(value, str) and value in choices:
        return value
    raise _wrong(key, value, f"one of {', '.join(choices)}")


def _labels(value: object) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(v, str) and v in LABELS for v in value):
        return tuple(dict.fromkeys(value))
    raise _wrong("silent", value, f"a list of {', '.join(LABELS)}")


def _number(key: str, value: object, low: float, high: float) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
        return float(value)
    raise _wrong(key, value, f"a number from {low:g} to {high:g}")


def _count(key: str, value: object, low: int, high: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise _wrong(key, value, f"a whole number from {low} to {high}")


def _wrong(key: str, value: object, expected: str) -> UsageError:
    return UsageError(f"guard settings, {key} = {value!r}: expected {expected}.")
