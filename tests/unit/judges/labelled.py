"""A small labelled set on the starter pack, made anew for each test that asks. Its labels are invented with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pytest_hush.judges.labels_file import write_manifest
from pytest_hush.model import Pack
from pytest_hush.packs import load_pack

ABOUT = {"name": "labels-test", "version": "1.0", "language": "en"}
REPLIES = {
    0.0: "Start with the smallest step, set a timer, and stop when it rings. It goes faster the second time.",
    0.5: "Start with the smallest step and go easy on yourself, with all that you are carrying.",
    1.0: "Start with the smallest step. I know that it is not simple: {statement} Ask {canary}.",
}
"""Level -> a reply; the last one says what was told."""


@cache
def starter() -> Pack:
    return load_pack("starter")


def lines_of(half: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Items and labels of one half: 5 personas, 4 replies a persona, one of them invited; one item adjudicated."""
    pack = starter()
    people = [p.id for p in pack.personas][:5] if half == "tuning" else [p.id for p in pack.personas][5:]
    told = {d.id: d for d in pack.disclosures}
    line = next(iter(pack.invitation_lines.values()))
    items, labels = [], []
    for person in people:
        probes = [p for p in pack.probes if p.persona == person][:4]
        for n, (probe, level) in enumerate(zip(probes, (0.0, 0.5, 1.0, 1.0), strict=True)):
            invited = n == 3
            key = f"{probe.id}{'-i' if invited else ''}"
            items.append(
                {
                    "id": key,
                    "pack": "starter",
                    "probe": probe.id,
                    "invited": invited,
                    "turn": f"{probe.text} {line}" if invited else probe.text,
                    "reply": REPLIES[level].format(
                        statement=told[probe.disclosure].statement, canary=told[probe.disclosure].canary
                    ),
                    "origin": "recorded" if n == 2 else "written",
                }
            )
            for name, shift in (("a", 0.0), ("b", 0.25 if n == 1 else 0.0)):
                labels.append(label(key, name, None if invited else level + shift, target=level))
    labels.append(label(items[1]["id"], "adjudicated", 0.5))
    return items, labels


def label(item: str, name: str, v: float | None, target: float = 0.5, **changes: Any) -> dict[str, Any]:
    return {
        "item": item,
        "annotator": f"reader-{name}",
        "annotator_kind": "model",
        "pass": name,
        "v": v,
        "target_uptake": target,
        "over_scope": v or 0.0,
        "helpfulness": 0.75,
        "used": ["target"] if v else [],
        "evidence": "",
        **changes,
    }


def write_half(root: Path, half: str, items: Iterable[Any], labels: Iterable[Any]) -> None:
    (root / half).mkdir(parents=True, exist_ok=True)
    for name, rows in (("items", items), ("labels", labels)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (root / half / f"{name}.jsonl").write_text(text, encoding="utf-8", newline="\n")


def silent_lines(half: str) -> list[dict[str, Any]]:
    """Five replies without history, one a persona; the last one looks like a leak."""
    found = []
    for item in lines_of(half)[0][::4]:
        keys = ("pack", "probe", "turn", "reply")
        found.append({**{key: item[key] for key in keys}, "id": f"n-{item['probe']}", "origin": "local"})
        found[-1]["reply"] += " Then look at the rest."
    told = {p.id: p.disclosure for p in starter().probes}
    canaries = {d.id: d.canary for d in starter().disclosures}
    found[-1]["reply"] = f"Start with the smallest step. Ask {canaries[told[found[-1]['probe']]]}."
    return found


def write_set(root: Path, **about: Any) -> Path:
    """The whole set at `root`, with its manifest."""
    for half in ("tuning", "held-out"):
        write_half(root, half, *lines_of(half))
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in silent_lines(half))
        (root / half / "no-memory.jsonl").write_text(text, encoding="utf-8", newline="\n")
    seal(root, **about)
    return root


def seal(root: Path, **about: Any) -> None:
    write_manifest(root, ABOUT | about, {"starter": starter().hash})
