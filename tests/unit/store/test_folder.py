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


def test_a_run_outside_of_the_home_folder_is_ignored_by_git_too(tmp_path: Path) -> None:
    path = tmp_path / "hush-run"
    path.mkdir()
    (path / ".gitignore").write_text("*\n")  # what is left when a user deletes the rest
    run_with_records(path)
    assert (path / ".gitignore").read_text() == "*\n"
    assert RunFolder.create(path, MANIFEST).messages  # a second run moves the first, and has a file of its own
    assert all((p / ".gitignore").is_file() for p in tmp_path.iterdir())


def test_a_folder_with_an_ignore_file_of_its_owner_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    with pytest.raises(StoreError, match=r"holds '.gitignore' but no manifest.json"):
        RunFolder.create(tmp_path, MANIFEST)
    assert (tmp_path / ".gitignore").read_text() == "build/\n"


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
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(path, "new")
    assert [p.name for p in tmp_path.rglob("*")] == ["a.json"]


@pytest.mark.parametrize("content", [b"\xff\xfe/nowhere", b"a\x00b", b""])
def test_a_note_of_the_last_run_that_is_no_path_names_no_run(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".hush").mkdir()
    (tmp_path / ".hush" / "latest").write_bytes(content)
    assert latest(tmp_path) is None


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX alone")
def test_a_root_whose_name_is_no_utf8(tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff"))
    try:
        root.mkdir()
    except OSError:
        pytest.skip("this file system wants UTF-8")
    run = RunFolder.create(None, MANIFEST, root=root)
    assert latest(root) == run.path.resolve()


def test_half_of_a_surrogate_pair_is_escaped_in_what_is_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.json", json.dumps({"host": "\udcff"}, ensure_ascii=False))
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"host": "\udcff"}


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_everything_of_a_run_is_its_owners_alone_and_a_users_folder_keeps_its_rights(tmp_path: Path) -> None:
    run = RunFolder.create(None, MANIFEST, root=tmp_path)
    run.log("main").append(RECORDS[0])
    made = [tmp_path / ".hush", *(tmp_path / ".hush").rglob("*")]
    assert {stat.S_IMODE(p.stat().st_mode) for p in made if p.is_dir()} == {0o700}
    assert {stat.S_IMODE(p.stat().st_mode) for p in made if p.is_file()} == {0o600}
    own = tmp_path / "own"
    own.mkdir(mode=0o755)
    own.chmod(0o755)
    RunFolder.create(own, MANIFEST)
    assert stat.S_IMODE(own.stat().st_mode) == 0o755
