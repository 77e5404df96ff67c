from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.errors import StoreError
from pytest_hush.store import RunFolder, latest, write_atomically

from .test_records import RECORDS

MANIFEST: dict[str, Any] = {
    "plan_hash": "0123456789abcdef",
    "instrument": {"judge": "embedded", "pack": "starter@1+aa"},
    "subject": {"parrot|vector": {"model": "parrot", "settings": {"model": {"degree": 0.5}}}},
}


def run_with_records(path: Path) -> RunFolder:
    run = RunFolder.create(path, MANIFEST)
    log = run.log("main")
    log.append(RECORDS[0])
    log.close()
    return run


def test_the_default_folder_names_time_and_plan(tmp_path: Path) -> None:
    run = RunFolder.create(None, MANIFEST, root=tmp_path)
    assert run.path.parent == tmp_path / ".hush" / "runs"
    assert run.path.name.endswith("Z-01234567")
    assert (tmp_path / ".hush" / ".gitignore").read_text() == "*\n"
    assert latest(tmp_path) == run.path.resolve()
    second = RunFolder.create(None, MANIFEST, root=tmp_path)
    assert second.path != run.path
    assert latest(tmp_path) == second.path.resolve()
    if os.name == "posix":
        assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
        assert stat.S_IMODE((run.path / "manifest.json").stat().st_mode) == 0o600


def test_open_gives_the_manifest_back(tmp_path: Path) -> None:
    made = RunFolder.create(tmp_path / "run", MANIFEST)
    opened = RunFolder.open(tmp_path / "run")
    assert opened.manifest == made.manifest
    assert opened.manifest["plan_hash"] == MANIFEST["plan_hash"]
    assert opened.records() == []


def test_an_older_run_is_renamed_and_said(tmp_path: Path) -> None:
    path = tmp_path / "run"
    old = run_with_records(path)
    new = RunFolder.create(path, MANIFEST)
    (message,) = new.messages
    (aside,) = [p for p in tmp_path.iterdir() if p != path]
    assert str(aside) in message
    assert aside.name.startswith("run.2")
    assert RunFolder.open(aside).records() == [RECORDS[0]]
    assert new.records() == []
    with pytest.raises(StoreError, match="another run was started in this folder"):
        old.records()


def test_two_older_runs_of_one_second_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "run"
    for _ in range(3):
        run_with_records(path)
    kept = sorted(p.name for p in tmp_path.iterdir())
    assert len(kept) == 3
    assert sum(len(RunFolder.open(tmp_path / name).records()) for name in kept) == 3


def test_a_run_without_records_makes_room(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", MANIFEST)
    assert RunFolder.create(tmp_path / "run", MANIFEST).messages == ()
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_folder_that_is_no_run_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StoreError, match=r"holds 'thesis.tex' but no manifest.json"):
        RunFolder.create(tmp_path, MANIFEST)
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(StoreError, match="a file, not a folder"):
        RunFolder.create(tmp_path / "thesis.tex", MANIFEST)
    with pytest.raises(StoreError, match="cannot be made"):
        RunFolder.create(tmp_path / "thesis.tex" / "run", MANIFEST)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 9, "plan_hash": "x"}', '{"schema": 1}'])
def test_a_manifest_that_cannot_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(StoreError, match="manifest"):
        RunFolder.open(tmp_path)


def test_no_run_here(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no run here"):
        RunFolder.open(tmp_path / "absent")


def test_resume_wants_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_with_records(path)
    assert RunFolder.resume(path, {**MANIFEST, "options": {"in_flight": 3}}).records() == [RECORDS[0]]
    changed = json.loads(json.dumps(MANIFEST))
    changed["plan_hash"] = "fedc"
    changed["instrument"]["judge"] = "openai/gpt-4o"
    changed["subject"]["parrot|vector"]["settings"]["model"]["degree"] = 0.9
    with pytest.raises(StoreError) as error:
        RunFolder.resume(path, changed)
    text = str(error.value)
    assert 'instrument.judge: "embedded" then, "openai/gpt-4o" now' in text
    assert "subject.parrot|vector.settings.model.degree: 0.5 then, 0.9 now" in text
    assert "plan_hash" in text
    assert "instrument.pack" not in text


def test_write_atomically_leaves_no_trace_of_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud83d")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
