"""What can be set about the guard: one frozen value, read from a table ``[tool.pytest_hush.guard]`` or made in code."""

from __future__ import annotations

import difflib
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

    def __post_init__(self) -> None:
        """Raises `UsageError` that names the setting, what was read and what is expected; a list is taken as well."""
        for key in (f.name for f in fields(self)):
            # Frozen for everybody else: what is read here may be a list, or a whole number for a fraction.
            object.__setattr__(self, key, _checked(key, getattr(self, key)))

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> GuardSettings:
        """The settings of a table of the user's. Raises `UsageError` that names the key and what is expected."""
        known = [f.name for f in fields(cls)]
        for key in table:
            if key not in known:
                raise UsageError(
                    f"guard settings: unknown setting {key!r}{_near(key, known)}; known: {', '.join(known)}."
                )
        made = cls(**table)
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


def labels_of(where: str, value: object) -> tuple[str, ...]:
    """`value`, a list or tuple of labels, each once. `UsageError` names `where` and the first that is none."""
    expected = f"a list of {', '.join(LABELS)}"
    if not isinstance(value, (list, tuple)):
        raise _wrong(where, value, expected)
    for label in value:
        if not isinstance(label, str) or label not in LABELS:
            raise _wrong(where, value, expected, label, LABELS)
    return tuple(dict.fromkeys(value))


def _checked(key: str, value: object) -> object:
    if key == "silent":
        return labels_of("guard settings, silent", value)
    where = f"guard settings, {key}"
    if key in _CHOICES:
        if isinstance(value, str) and value in _CHOICES[key]:
            return value
        raise _wrong(where, value, f"one of {', '.join(_CHOICES[key])}", value, _CHOICES[key])
    if key in _NUMBERS:
        low, high = _NUMBERS[key]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
            return float(value)
        raise _wrong(where, value, f"a number from {low:g} to {high:g}")
    if key in _COUNTS:
        least, most = _COUNTS[key]
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise _wrong(where, value, f"a whole number from {least} to {most}")
    if key in ("revocations", "embeddings"):
        if isinstance(value, bool):
            return value
        raise _wrong(where, value, "true or false")
    if isinstance(value, str) and (value or key != "language"):
        return value
    raise _wrong(where, value, "a text")


def _wrong(where: str, value: object, expected: str, misread: object = None, choices: Sequence[str] = ()) -> UsageError:
    return UsageError(f"{where} = {value!r}: expected {expected}{_near(misread, choices)}.")


def _near(misread: object, choices: Sequence[str]) -> str:
    close = difflib.get_close_matches(misread.lower(), choices, n=1, cutoff=0.6) if isinstance(misread, str) else []
    return f" (did you mean {close[0]!r} for {misread!r}?)" if close else ""
