from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.errors import PackError
from pytest_hush.packs import load_pack, write_manifest, write_pack
from tests.unit.packs import small


def test_a_written_pack_reads_back_equal(tmp_path: Path) -> None:
    pack = load_pack("starter")
    again = load_pack(write_pack(pack, tmp_path / "copy"))
    assert replace(again, hash=pack.hash) == pack


def test_writing_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    pack = load_pack(small.write(tmp_path / "small"))
    first, second = (write_pack(pack, tmp_path / name) for name in ("a", "b"))
    for path in sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file()):
        assert (first / path).read_bytes() == (second / path).read_bytes()
    assert load_pack(first).hash == load_pack(second).hash


def test_flags_survive(tmp_path: Path) -> None:
    source = {"format": "locomo", "sha256": "0" * 64, "licence": "CC-BY-NC-4.0", "notes": "x"}
    pack = replace(load_pack(small.write(tmp_path / "small")), private=True, ambient_labelled=False, background=source)
    again = load_pack(write_pack(pack, tmp_path / "copy"))
    assert (again.private, again.ambient_labelled, again.background) == (True, False, source)


def test_no_folder_is_overwritten(tmp_path: Path) -> None:
    root = small.write(tmp_path / "small")
    with pytest.raises(PackError, match="not an empty folder"):
        write_pack(load_pack(root), root)


def test_the_manifest_keeps_its_header_and_takes_new_values(tmp_path: Path) -> None:
    root = small.write(tmp_path / "small")
    before = json.loads((root / "manifest.json").read_text())
    write_manifest(root, version="1.1.0", private=True)
    after = json.loads((root / "manifest.json").read_text())
    assert {**before, "version": "1.1.0", "private": True} == after
    assert after["counts"]["sessions"] == 3


def test_a_first_manifest_needs_a_header(tmp_path: Path) -> None:
    root = small.write(tmp_path / "small")
    (root / "manifest.json").unlink()
    with pytest.raises(PackError, match="version, title, language, licence"):
        write_manifest(root)
    with pytest.raises(PackError, match="unknown field 'license'"):
        write_manifest(root, license="x")
    with pytest.raises(PackError, match="field `version`"):
        write_manifest(root, **{**small.HEADER, "version": "v1"})
    with pytest.raises(PackError, match="no persona folder"):
        write_manifest(tmp_path)
    (root / "manifest.json").write_text("{")
    with pytest.raises(PackError, match="is not JSON"):
        write_manifest(root)
