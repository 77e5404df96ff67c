"""Recorded replies: whole, bound to the present prompts, and refused where they do not fit."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.bundled import bundled
from pytest_hush.errors import RefusedCallError, UsageError
from pytest_hush.memories import render
from pytest_hush.memories.controls import ControlMemory
from pytest_hush.model import NONE, Condition, Message, Pack, Prompt
from pytest_hush.models import ModelSettings, resolve_model
from pytest_hush.models.recorded import Recorded, load_recording, prompt_hash
from pytest_hush.packs import load_pack, plant
from pytest_hush.plan import Plan, build_plan, parse_conditions
from pytest_hush.run.prompt import build_prompt
from tests.unit.factories import make_pack, make_plan

FOLDER = bundled("probes", "recorded-en-1")
EMPTY = hashlib.sha256(b"").hexdigest()


@pytest.fixture(scope="module")
def starter() -> Pack:
    return load_pack("starter")


def plan_of(pack: Pack, memory: str = "oracle", *, invitations: bool = False) -> Plan:
    return build_plan(
        pack, ["recorded"], parse_conditions([memory]), retrieving=lambda c: False, invitations=invitations
    )


def recorded(spec: str = "recorded", **settings: Any) -> Recorded:
    model = resolve_model(spec, settings=ModelSettings(**settings))
    assert isinstance(model, Recorded)
    return model


def test_every_prompt_of_the_starter_pack_is_recorded_under_the_present_template(starter: Pack) -> None:
    model = recorded()
    told = {d.id: d for d in starter.disclosures}
    oracle = ControlMemory("oracle", starter)
    asked = set()
    for case in plan_of(starter, invitations=True).cases:
        entries = ()
        if case.condition != NONE:
            assert case.disclosure_id is not None
            entries = oracle.context(plant(starter, told[case.disclosure_id]), case.text).entries
        prompt = build_prompt(case.text, render(entries) if entries else "", entries)
        asked.add(prompt_hash(prompt))
        assert prompt_hash(prompt) in model.recording.replies, (
            f"no reply is recorded for {case.id}. The starter pack, the rendering of memory or the prompt template "
            f"has changed: record the replies anew (a new recorded-en-N), or take the change back."
        )
        assert model.reply(prompt).text
    assert asked == set(model.recording.replies)


def test_the_manifest_says_what_is_there(starter: Pack) -> None:
    manifest = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in (FOLDER / "replies.jsonl").read_text(encoding="utf-8").splitlines()]
    assert manifest["pack"] == {"name": starter.name, "version": starter.version, "hash": starter.hash}
    assert manifest["counts"]["replies"] == len(rows) == 320
    assert {r["reader"] for r in rows} == {"r1", "r2", "r3", "r4"}
    assert all(set(r) == {"prompt", "reply", "reader"} and r["reply"].strip() for r in rows)
    assert (FOLDER / "README.md").is_file()
    kept = load_recording("recorded-en-1")
    assert (kept.conditions, kept.decoding) == (("none", "oracle"), "uncontrolled")


def test_it_is_a_demonstration_and_costs_nothing() -> None:
    model = recorded(max_tokens=9)
    assert (model.demonstration, model.name, model.max_tokens) == (True, "recorded", 9)
    assert model.settings["recording"].startswith("recorded-en-1@1.0+")
    prompt = Prompt((Message("user", "never asked"),))
    with pytest.raises(RefusedCallError, match=r"no reply was recorded for this prompt in recorded-en-1"):
        model.reply(prompt)


def test_a_folder_of_ones_own_is_found_from_the_root(tmp_path: Path) -> None:
    prompt = Prompt((Message("system", "s"), Message("user", "Which fern?")))
    own = recording(tmp_path / "mine", {"prompt": prompt_hash(prompt), "reply": "A hart's tongue."})
    model = recorded("recorded/mine", rootdir=str(tmp_path))
    assert (model.name, model.reply(prompt).text) == ("recorded/own", "A hart's tongue.")
    assert model.reply(prompt).usage.cost_usd == 0
    assert recorded(f"recorded/{own}").recording.hash == model.recording.hash
    assert recorded("recorded/recorded-en-1").recording == recorded().recording


def recording(folder: Path, *rows: dict[str, Any], **changes: Any) -> Path:
    folder.mkdir()
    body = "".join(json.dumps(r) + "\n" for r in rows).encode()
    (folder / "replies.jsonl").write_bytes(body)
    manifest: dict[str, Any] = {
        "schema": 1,
        "name": "own",
        "version": "1",
        "pack": {"name": "made-up", "version": "1", "hash": make_pack().hash},
        "conditions": ["none", "vector"],
        "source": "an assistant of ours",
        "decoding": "temperature 0",
        "files": {"replies.jsonl": hashlib.sha256(body).hexdigest()},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest | changes), encoding="utf-8")
    return folder


def test_a_plan_that_was_not_recorded_is_refused_before_a_call(tmp_path: Path, starter: Pack) -> None:
    recorded().check_plan(plan_of(starter))
    recorded().check_plan(plan_of(starter, "none"))
    with pytest.raises(UsageError, match=r"the pack starter 1\.1 under none, oracle, and not vector, mem0\+boundary"):
        recorded().check_plan(plan_of(starter, "vector,oracle,mem0+boundary"))
    with pytest.raises(UsageError, match=r"this run's pack is made-up 1\. Nothing can be replayed"):
        recorded().check_plan(make_plan(conditions="oracle"))
    model = recorded(f"recorded/{recording(tmp_path / 'own')}")
    model.check_plan(make_plan(conditions="vector"))
    with pytest.raises(UsageError, match="made-up 1 with other content"):
        model.check_plan(make_plan(make_pack(9)))


def _changed(folder: Path) -> None:
    with (folder / "replies.jsonl").open("a") as file:
        file.write("\n")


def _without(name: str) -> Callable[[Path], None]:
    def remove(folder: Path) -> None:
        path = folder / "manifest.json"
        kept = {k: v for k, v in json.loads(path.read_text()).items() if k != name}
        path.write_text(json.dumps(kept))

    return remove


@pytest.mark.parametrize(
    "break_it, expected",
    [
        (_changed, "it was changed"),
        (lambda f: (f / "replies.jsonl").unlink(), "cannot be read"),
        (lambda f: (f / "manifest.json").unlink(), "manifest"),
        (lambda f: (f / "manifest.json").write_text("[]"), "no manifest of a recording"),
        (_without("pack"), "a field is absent"),
        (_without("schema"), "no manifest of a recording of schema 1"),
        (shutil.rmtree, "there is no such folder"),
    ],
)
def test_a_broken_recording_is_one_clear_error(
    tmp_path: Path, break_it: Callable[[Path], object], expected: str
) -> None:
    folder = recording(tmp_path / "own", {"prompt": "a", "reply": "b"})
    break_it(folder)
    with pytest.raises(UsageError, match=expected):
        resolve_model(f"recorded/{folder}")


@pytest.mark.parametrize(
    "rows, changes, expected",
    [
        ([{"prompt": "a", "reply": "b"}] * 2, {}, "line 2: the prompt a has two replies"),
        ([{"prompt": "a"}], {}, "line 1: expected an object with texts"),
        ([{"prompt": "a", "reply": 3}], {}, "line 1: expected an object with texts"),
        ([], {"files": {}}, "does not list replies.jsonl"),
        ([], {"files": {"replies.jsonl": EMPTY, "../x": "0"}}, "leaves the folder"),
        ([], {"conditions": [3]}, "of another type"),
    ],
)
def test_a_line_or_field_that_is_wrong_is_named(
    tmp_path: Path, rows: list[dict[str, Any]], changes: dict[str, Any], expected: str
) -> None:
    folder = recording(tmp_path / "own", *rows, **changes)
    with pytest.raises(UsageError, match=expected):
        load_recording(str(folder))


def test_a_condition_is_what_its_prompt_is_made_of() -> None:
    plain = build_prompt("Which fern?", "")
    assert prompt_hash(plain) != prompt_hash(build_prompt("Which fern?", "", with_boundary=True))
    assert prompt_hash(plain) == prompt_hash(build_prompt("Which fern?", "", repeat=3, seed=5))
    assert not Condition.parse("oracle").boundary
