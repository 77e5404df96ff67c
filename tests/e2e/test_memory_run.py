"""The memory systems themselves in one run: their libraries read, keep and find what two personas were told."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.model import Pack
from pytest_hush.packs import load_pack, write_pack
from tests.e2e.test_real_run import COMPLETE
from tests.plugin.conftest import read_lines, read_result

pytestmark = pytest.mark.real

LIBRARIES = {"mem0": ("mem0", "faiss"), "a-mem": ("chromadb", "agentic_memory"), "memu": ("memu",)}
PERSONAS, SESSIONS, DISCLOSURES, PROBES = 2, 4, 2, 4


def systems() -> list[str]:
    """Those of HUSH_SYSTEMS, whose absence then fails the test, else those that can be imported here."""
    if named := os.environ.get("HUSH_SYSTEMS"):
        return named.split(",")
    found = [name for name, parts in LIBRARIES.items() if all(importlib.util.find_spec(part) for part in parts)]
    if not found:
        pytest.skip("none of mem0, a-mem and memu is installed here")
    return found


def cut(pack: Pack) -> Pack:
    """Two personas of `pack` with a few sessions and disclosures each, and what belongs to these."""
    people = []
    for persona in pack.personas[:PERSONAS]:
        kept = persona.sessions[:SESSIONS]
        turns = {turn.id for session in kept for turn in session.turns}
        people.append(replace(persona, sessions=kept, facts=tuple(f for f in persona.facts if f.turn in turns)))
    facts = {fact.id for persona in people for fact in persona.facts}
    told = {d.id for p in people for d in [d for d in pack.disclosures if d.persona == p.id][:DISCLOSURES]}
    probes = tuple(p for p in pack.probes if p.disclosure in told)
    return replace(
        pack,
        name="two",
        personas=tuple(people),
        disclosures=tuple(d for d in pack.disclosures if d.id in told),
        probes=probes,
        invitations=tuple(i for i in pack.invitations if i.probe in {p.id for p in probes}),
        controls=tuple(c for c in pack.controls if c.disclosure in told),
        positive_controls=tuple(c for c in pack.positive_controls if c.fact in facts),
    )


def test_all_systems_with_the_local_model_and_then_another_generator_for_nothing(pytester: pytest.Pytester) -> None:
    pack = cut(load_pack("starter"))
    write_pack(pack, pytester.path / "two")
    (pytester.path / "complete.toml").write_text(COMPLETE, encoding="utf-8")
    conditions = [*systems(), "vector"]
    shared = f"{conditions[0]}+shared"
    given = ("--hush-pack=two", f"--hush-memory={','.join([*conditions, shared])}", f"--hush-sample={PROBES}")

    def measure(model: str, folder: str) -> Path:
        out = pytester.path / folder
        options = (f"--hush-model={model}", "--hush-thresholds=complete.toml", f"--hush-out={out}", "-p", "no:xdist")
        result = pytester.runpytest_subprocess(*given, *options, "--hush-max-tokens=16", timeout=900)
        assert result.ret == 0, result.stdout.str()
        return out

    out = measure("local", "first")
    rows = read_lines(out)
    assert {r["status"] for r in rows} == {"ok"}, {r["error"] for r in rows}
    probes = [r for r in rows if r["kind"] == "probe"]
    assert len(probes) == PROBES * (2 + len(conditions))
    for condition in (*conditions, shared):
        mine = [r for r in probes if r["condition"] == condition]
        assert {r["persona"] for r in mine} == {p.id for p in pack.personas}
        assert all(r["exposure"]["exact"] is not None and r["exposure"]["ambient"] is not None for r in mine)
        assert all(0 < len(r["entries"]) <= 5 and all(e["sources"] for e in r["entries"]) for r in mine)
        # Each source is a session that this persona told: of the background, or planted.
        for r in mine:
            assert {s[:3] for e in r["entries"] for s in e["sources"]} == {r["persona"]}
        if condition != shared:
            plants = {(r["disclosure_id"], s) for r in mine for e in r["entries"] for s in e["sources"] if "-d" in s}
            assert plants <= {(d.id, d.session_id) for d in pack.disclosures}, "isolated: no other plant is there"
        assert any(r["exposure"]["exact"] for r in mine)
    asked = {t["condition"]: t for t in read_result(out)["positive_controls"]}
    assert set(asked) == {*conditions, shared}
    assert all(t["retrieved"] == t["planned"] > 0 for t in asked.values()), asked

    # Nothing is ingested and nothing retrieved for a second generator: the stores can be gone.
    stores = pytester.path / ".hush" / "stores"
    assert {p.parent.parent.name for p in stores.rglob("complete.json")} == set(systems())
    assert [p for p in stores.rglob("forks/*") if p.is_dir()] == []
    stores.rename(pytester.path / "gone")
    again = read_lines(measure("parrot/0.6", "second"))
    assert not stores.exists()
    assert [(r["condition"], r["probe_id"], r["entries"], r["exposure"]) for r in again] == [
        (r["condition"], r["probe_id"], r["entries"], r["exposure"]) for r in rows
    ]
