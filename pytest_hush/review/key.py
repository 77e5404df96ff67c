"""``review-key.json`` in the run folder: which record each item of a review is. It is not for the readers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_hush.errors import LabelError
from pytest_hush.model import Record
from pytest_hush.review.sample import Drawn
from pytest_hush.store.codec import MALFORMED, amount, mapping, text, whole
from pytest_hush.store.folder import write_atomically
from pytest_hush.store.labels import reply_digest

KEY: Final = "review-key.json"
SCHEMA: Final = 1
ABOUT: Final = (
    "Not for the readers: it tells which case each item of the review is. Keep it in the run folder; "
    "`hush review import` needs it."
)


@dataclass(frozen=True, slots=True)
class KeyItem:
    """The record that one item shows, a digest of its reply, and its weight in the sample."""

    record: str
    reply: str
    weight: float


@dataclass(frozen=True, slots=True)
class Key:
    """The key of one review: `items` by item id; `population` replies could have been drawn."""

    plan_hash: str
    seed: int
    population: int
    items: Mapping[str, KeyItem]


def make_key(items: Mapping[str, Drawn], plan_hash: str, *, seed: int, population: int) -> Key:
    """The key of the sample `items`."""
    found = {i: KeyItem(d.record.key, reply_digest(d.record.reply), d.weight) for i, d in items.items()}
    return Key(plan_hash, seed, population, found)


def write_key(folder: Path, key: Key) -> str:
    """Write the key into the run's `folder`; an older, other one is kept as ``review-key-1.json``. Says so.

    Raises `LabelError` when it cannot be written.
    """
    path, message = folder / KEY, ""
    data = {
        "schema": SCHEMA,
        "about": ABOUT,
        "plan_hash": key.plan_hash,
        "seed": key.seed,
        "population": key.population,
        "items": {i: {"record": x.record, "reply": x.reply, "weight": x.weight} for i, x in key.items.items()},
    }
    lines = json.dumps(data, indent=1) + "\n"
    try:
        if path.exists() and path.read_text(encoding="utf-8") != lines:
            number = 1
            while (aside := path.with_stem(f"{path.stem}-{number}")).exists():
                number += 1
            path.rename(aside)
            message = (
                f"An earlier review of this run stands in {aside.name}. Labels of its items are read only where the "
                f"new sample holds them too (the same --seed and a larger --n)."
            )
        write_atomically(path, lines)
    except OSError as error:
        raise LabelError(f"{path}: the key of the review cannot be written: {error.strerror}.") from error
    return message


def read_key(folder: Path, records: Sequence[Record]) -> Key:
    """The key in the run's `folder`. Raises `LabelError`: no key, none that can be read, or replies that changed."""
    path = folder / KEY
    try:
        data = mapping(json.loads(path.read_text(encoding="utf-8")))
        if data["schema"] != SCHEMA:
            raise LabelError(
                f"{path}: a key of schema {data['schema']!r}; this version of pytest-hush reads schema {SCHEMA}. "
                f"Read it with the version that wrote it."
            )
        key = Key(
            plan_hash=text(data["plan_hash"]),
            seed=whole(data["seed"]),
            population=whole(data["population"]),
            items={
                item: KeyItem(text(x["record"]), text(x["reply"]), amount(x["weight"]))
                for item, x in mapping(data["items"]).items()
            },
        )
    except FileNotFoundError:
        raise LabelError(
            f"{path}: this run has no review: the file is not there. Draw one with `hush review export {folder}`."
        ) from None
    except (OSError, *MALFORMED) as error:
        raise LabelError(
            f"{path}: the key of the review cannot be read ({type(error).__name__}: {error}). Export the review once "
            f"more with the same --seed and --n."
        ) from None
    replies = {r.key: reply_digest(r.reply) for r in records}
    changed = sum(replies.get(x.record) != x.reply for x in key.items.values())
    if changed:
        raise LabelError(
            f"{path}: {changed} of {len(key.items)} replies of this review are not in the run, or are others than were "
            f"exported. Labels hold for the replies that were read: export the review once more."
        )
    return key
