"""Shards of one plan put together: checked for being of one plan, whole and without doubles, then copied."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_hush.errors import StoreError
from pytest_hush.model import canonical_json
from pytest_hush.plan import Plan, identity, parse_shard
from pytest_hush.store.folder import RunFolder
from pytest_hush.store.labels import LABELS, Label, read_labels, write_labels
from pytest_hush.store.records import Warn, warn_user
from pytest_hush.store.revision import NOBODY_KNOWS, Revision, revision_from

_SAME = ("plan_hash", "plan", "instrument", "subject")
"""Parts of a manifest that shards of one run share."""


def merge_shards(paths: Sequence[Path], out: Path, *, warn: Warn = warn_user, mode: str | None = None) -> RunFolder:
    """A run folder `out` with the records and the readers' labels of every shard; the shards stay as they are.

    `mode` stands in for the shards' own, in which they need not agree then.

    Raises `StoreError` that names the shards: another plan, another instrument or subject, another mode, a shard that
    is missing or given twice, a case that is missing, that another shard should have measured, or that two shards
    measured, labels that contradict each other. Raises `LabelError` for labels that cannot be read.
    """
    shards = [RunFolder.open(path) for path in paths]
    if not shards:
        raise StoreError("No shard was given. Name the run folders of all shards: hush merge shard-1 shard-2 …")
    numbers = [_number(s) for s in shards]
    _one_run(shards)
    if mode is None:
        _one_mode(shards)
    _all_there(shards, numbers)
    plan = shards[0].plan()
    lines: list[bytes] = []
    for shard, number in zip(shards, numbers, strict=True):
        lines += _lines(shard, replace(plan, shard=number), warn)
    labels = _labels(shards, warn)
    about = {k: v for k, v in shards[0].manifest.items() if k not in _OWN}
    if mode is not None:
        about["mode"] = mode
    merged = RunFolder.create(out, about | {"shards": len(shards), "revision": _revision(shards, warn)})
    merged.keep_plan(plan)
    counted = [found for s in shards if (found := s.sessions()) is not None]
    if counted:
        merged.keep_session(sum(c for c, _ in counted), sum(h for _, h in counted))
    target = merged.path / f"records-merged-{os.getpid()}.jsonl"
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(b"".join(sorted(lines)))
    except OSError as error:
        raise StoreError(f"{target}: the merged records cannot be written: {error.strerror}.") from error
    if labels:
        write_labels(merged.path, labels)
    return merged


_OWN = frozenset({"schema", "started", "pid", "shard", "revision"})
"""Parts of a manifest that are a shard's own."""


def _revision(shards: Sequence[RunFolder], warn: Warn) -> Revision:
    """The commit of all shards; where they name several, nobody knows which was measured, and a warning says so."""
    found = [revision_from(s.manifest.get("revision")) for s in shards]
    commits = sorted({r["commit"] for r in found} - {""})
    if len(commits) > 1:
        told = ", ".join(c[:12] for c in commits)
        warn(f"The shards were measured at different commits ({told}): the merged run names none.")
        return NOBODY_KNOWS
    if not all(r["commit"] for r in found):
        return NOBODY_KNOWS
    dirty = {r["dirty"] for r in found}
    return {"commit": commits[0], "dirty": True if True in dirty else None if None in dirty else False}


def _number(shard: RunFolder) -> tuple[int, int]:
    text = shard.manifest.get("shard")
    if not isinstance(text, str):
        raise StoreError(
            f"{shard.path}: this run is no shard (it was measured without --hush-shard). Only shards are merged; judge "
            f"a whole run with hush gate."
        )
    return parse_shard(text)


def _one_run(shards: Sequence[RunFolder]) -> None:
    first = shards[0]
    for other in shards[1:]:
        for name in _SAME:
            if canonical_json(other.manifest.get(name)) != canonical_json(first.manifest.get(name)):
                raise StoreError(
                    f"{other.path} and {first.path} are not shards of one run: they differ in `{name}`"
                    f"{_where(first, other, name)}. "
                    f"Measure all shards with the same options, pack, code and versions."
                )


def _one_mode(shards: Sequence[RunFolder]) -> None:
    first, modes = shards[0], [s.manifest.get("mode") for s in shards]
    for other, mode in zip(shards, modes, strict=True):
        if mode != modes[0]:
            raise StoreError(
                f"{other.path} and {first.path} were not run in the same mode: {mode or 'none is named'} and "
                f"{modes[0] or 'none is named'}. Name the mode that counts with --mode, or measure all shards in one."
            )


def _where(first: RunFolder, other: RunFolder, name: str) -> str:
    one: Any = first.manifest.get(name)
    two: Any = other.manifest.get(name)
    if not isinstance(one, dict) or not isinstance(two, dict):
        return ""
    keys = [k for k in sorted(one.keys() | two.keys()) if one.get(k) != two.get(k)]
    return f" ({', '.join(keys[:4])})"


def _all_there(shards: Sequence[RunFolder], numbers: Sequence[tuple[int, int]]) -> None:
    counts = {n for _, n in numbers}
    if len(counts) > 1:
        told = ", ".join(f"{s.path} is {i}/{n}" for s, (i, n) in zip(shards, numbers, strict=True))
        raise StoreError(f"The shards split the plan in different ways: {told}.")
    count = counts.pop()
    seen = Counter(i for i, _ in numbers)
    if twice := [i for i, k in seen.items() if k > 1]:
        paths = [str(s.path) for s, (i, _) in zip(shards, numbers, strict=True) if i == twice[0]]
        raise StoreError(f"Shard {twice[0]}/{count} was given twice: {' and '.join(paths)}. Name each shard once.")
    if absent := [i for i in range(1, count + 1) if i not in seen]:
        told = ", ".join(f"{i}/{count}" for i in absent)
        raise StoreError(
            f"Shards are missing: {told}. Measure them (--hush-shard={absent[0]}/{count}), or name their folders."
        )


def _labels(shards: Sequence[RunFolder], warn: Warn) -> list[Label]:
    """The readers' labels of all shards, each once. Their weights stay right: a persona is in one shard whole."""
    found: dict[tuple[str, str], tuple[Label, RunFolder]] = {}
    given = {s.path: read_labels(s.path / LABELS) if (s.path / LABELS).is_file() else [] for s in shards}
    for shard in shards:
        for label in given[shard.path]:
            other, where = found.setdefault((label.item, label.pass_), (label, shard))
            if replace(other, date=label.date) != label:
                raise StoreError(
                    f"{where.path / LABELS} and {shard.path / LABELS} contradict each other: label {label.pass_!r} of "
                    f"{label.item} is not the same in both. Remove the wrong file, or import the readers' CSV once "
                    f"more with `hush review import`."
                )
    if without := [str(path) for path, labels in given.items() if found and not labels]:
        warn(f"Readers' labels were there for some shards only: {', '.join(without)} came without.")
    return [found[place][0] for place in sorted(found)]


def _lines(shard: RunFolder, plan: Plan, warn: Warn) -> list[bytes]:
    """The shard's records as lines. Refuses a case of another shard, and a shard that did not come to its end."""
    from pytest_hush.store.records import dump_line

    own = {identity(c) for c in plan.cases if plan.in_shard(c)}
    planned = {identity(c) for c in plan.cases}
    records = [r for r in shard.records(warn=warn) if r.identity in planned]
    if foreign := sorted(r.identity for r in records if r.identity not in own):
        raise StoreError(f"{shard.path}: it holds {len(foreign)} cases of another shard (first {foreign[0][2]}).")
    doubles = Counter(r.identity for r in records if r.measured)
    if twice := sorted(i for i, n in doubles.items() if n > 1):
        raise StoreError(
            f"{shard.path}: {len(twice)} cases have two different answers (first {twice[0][2]}): settings changed "
            f"within the shard, or two runs wrote to its folder. Measure it anew."
        )
    if missing := sorted(own - {r.identity for r in records}):
        index, count = plan.shard or (1, 1)
        raise StoreError(
            f"{shard.path}: {len(missing)} of the {len(own)} cases of shard {index}/{count} have no record (first "
            f"{missing[0][2]}): it did not come to its end. Finish it with --hush-resume."
        )
    return [dump_line(r) for r in records]
