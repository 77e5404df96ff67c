from __future__ import annotations

import json
import os
import random
import re
import stat
import threading
import warnings
from dataclasses import fields, replace
from pathlib import Path

import pytest

from pytest_hush.errors import StoreError
from pytest_hush.model import Entry, Exposure, Record, Status
from pytest_hush.store import RecordLog, StoreWarning, read_records, record_from_json, record_to_json
from pytest_hush.store.records import dump_line

from ..factories import make_pack, make_plan, make_record

PLAN = make_plan(make_pack(2, 1))
RECORDS = [make_record(case, PLAN, v=0.5) for case in PLAN.cases]
FULL = replace(
    RECORDS[-1],
    exposure=Exposure(True, None, False),
    entries=(
        Entry("e", 'a "text"\nof two lines \u2028 and 😀', None),
        Entry("f", "", ("s1", "s2"), ("t1",), "2025-01-01T08:00"),
    ),
    control={"retrieved": None, "used": False},
    error="why",
    notes=("one", "two"),
)


def write(folder: Path, records: list[Record], writer: str = "main") -> Path:
    log = RecordLog(folder, writer)
    for record in records:
        log.append(record)
    log.close()
    return log.path


def test_a_record_survives_json() -> None:
    assert record_from_json(json.loads(dump_line(FULL))) == FULL
    assert list(record_to_json(FULL)) == [f.name for f in fields(Record)]


def test_a_line_is_one_line_whatever_the_text() -> None:
    assert dump_line(FULL).count(b"\n") == 1
    odd = replace(FULL, reply="half a pair \ud83d")
    assert record_from_json(json.loads(dump_line(odd))) == odd


def test_nan_is_never_written(tmp_path: Path) -> None:
    log = RecordLog(tmp_path, "main")
    with pytest.raises(StoreError, match="no JSON"):
        log.append(replace(FULL, latency_s=float("nan")))
    log.close()
    assert log.path.read_bytes() == b""


def test_records_come_back_sorted_and_private(tmp_path: Path) -> None:
    path = write(tmp_path, random.Random(1).sample(RECORDS, len(RECORDS)))
    assert path.name == f"records-main-{os.getpid()}.jsonl"
    assert read_records(tmp_path) == sorted(RECORDS, key=lambda r: r.identity)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_second_log_of_one_process_never_continues_a_torn_file(tmp_path: Path) -> None:
    first = write(tmp_path, RECORDS[:1])
    with first.open("ab") as file:
        file.write(b'{"key": "torn')
    second = write(tmp_path, RECORDS[1:2])
    assert second != first
    assert read_records(tmp_path) == sorted(RECORDS[:2], key=lambda r: r.identity)


def test_a_torn_last_line_is_ignored_in_silence(tmp_path: Path) -> None:
    path = write(tmp_path, RECORDS[:3])
    whole = path.read_bytes()
    for cut in (1, 20, len(dump_line(RECORDS[2])) - 2):
        path.write_bytes(whole[:-cut])
        expected = RECORDS[:3] if cut == 1 else RECORDS[:2]
        assert read_records(tmp_path) == sorted(expected, key=lambda r: r.identity)


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff\xfe garbled", b'{"schema": 1}', b"[1, 2]", b'{"schema": 1, "status": "fine", "kind": "probe"}', b"{"],
)
def test_a_garbled_line_in_the_middle_is_left_out_with_a_warning(tmp_path: Path, garbage: bytes) -> None:
    path = write(tmp_path, RECORDS[:2])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], garbage, lines[1], b""]))
    with pytest.warns(StoreWarning, match=rf"{path.name}, line 2: no record can be read here"):
        assert len(read_records(tmp_path)) == 2


def test_another_schema_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = write(tmp_path, RECORDS[:1])
    path.write_bytes(path.read_bytes().replace(b'"schema":1}\n', b'"schema":2}\n'))
    with pytest.raises(StoreError, match=rf"{path.name}, line 1: a record of schema 2"):
        read_records(tmp_path)


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ("error", "ok", "ok"),
        ("ok", "error", "ok"),
        ("unscored", "withheld", "withheld"),
        ("error", "unplanted", "unplanted"),
        ("unscored", "error", "unscored"),
    ],
)
def test_a_worse_status_never_wins(tmp_path: Path, first: Status, second: Status, winner: Status) -> None:
    write(tmp_path, [replace(RECORDS[-1], status=first)], "gw0")
    write(tmp_path, [replace(RECORDS[-1], status=second)], "gw1")
    assert [r.status for r in read_records(tmp_path)] == [winner]


def test_the_winner_does_not_depend_on_who_wrote_what(tmp_path: Path) -> None:
    twins = [replace(RECORDS[-1], latency_s=latency) for latency in (2.0, 1.0, 3.0)]
    seen = set()
    for number, order in enumerate(([0, 1, 2], [2, 0, 1], [1, 2, 0])):
        folder = tmp_path / str(number)
        folder.mkdir()
        for writer, index in zip(("gw0", "gw1", "main"), order, strict=True):
            write(folder, [twins[index]], writer)
        (found,) = read_records(folder)
        seen.add(found.latency_s)
    assert seen == {1.0}


def test_contradicting_answers_are_all_given_in_one_order(tmp_path: Path) -> None:
    one = RECORDS[-1]
    judged = (replace(one.judgements[0], v=0.9),)
    twins = [one, replace(one, judgements=judged), replace(one, reply="another"), replace(one, latency_s=9.0)]
    seen = []
    for number, order in enumerate(([0, 1, 2, 3], [3, 2, 0, 1], [1, 3, 2, 0])):
        folder = tmp_path / str(number)
        folder.mkdir()
        for k, index in enumerate(order):
            write(folder, [twins[index]], f"gw{k}")
        write(folder, [replace(one, status="error", error="why")], "main")
        seen.append(read_records(folder))
    assert seen[0] == seen[1] == seen[2]
    assert {r.answer for r in seen[0]} == {t.answer for t in twins}
    assert len(seen[0]) == 3


def test_threads_share_a_log(tmp_path: Path) -> None:
    log = RecordLog(tmp_path, "main")
    chunks = [[replace(FULL, key=f"{n}-{i}", reply="x" * 5000) for i in range(50)] for n in range(8)]
    threads = [threading.Thread(target=lambda c=chunk: [log.append(r) for r in c]) for chunk in chunks]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert len(read_records(tmp_path)) == 400
    with pytest.raises(StoreError, match="closed"):
        log.append(FULL)


def test_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be created"):
        RecordLog(tmp_path / "absent", "main")


def wrong(path: str, value: object) -> bytes:
    found = record_to_json(FULL)
    *parents, name = path.split(".")
    inner: object = found
    for parent in parents:
        inner = inner[int(parent) if parent.isdigit() else parent]  # type: ignore[index]
    inner[name] = value  # type: ignore[index]
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    "garbage",
    [
        b"[" * 200_000,
        wrong("exposure.exact", "yes"),
        wrong("invited", 0),
        wrong("repeat", True),
        wrong("position", "late"),
        wrong("latency_s", float("nan")),
        wrong("attempts", -1),
        wrong("notes", "one"),
        wrong("entries.0.turns", "t1"),
        wrong("usage.cost_usd", -1),
        wrong("instrument", []),
        wrong("control", {"retrieved": "no", "used": None}),
        wrong("status", ["ok"]),
    ],
)
def test_a_wrong_type_inside_a_record_is_a_garbled_line(tmp_path: Path, garbage: bytes) -> None:
    path = write(tmp_path, RECORDS[:1])
    path.write_bytes(garbage + b"\n" + path.read_bytes())
    said: list[str] = []
    assert read_records(tmp_path, warn=said.append) == RECORDS[:1]
    assert len(said) == 1
    assert "line 1: no record can be read here" in said[0]


@pytest.mark.parametrize("v", [1.5, -0.1, True, None, "1"])
def test_a_score_that_is_none_is_a_garbled_line(tmp_path: Path, v: object) -> None:
    record = next(r for r in RECORDS if r.judgements and not r.invited)
    value = record_to_json(record)
    value["judgements"][0]["v"] = v
    (tmp_path / "records-main-1.jsonl").write_text(json.dumps(value) + "\n")
    with pytest.warns(StoreWarning, match="line 1"):
        assert read_records(tmp_path) == []


def test_warnings_as_errors_do_not_end_a_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path, RECORDS[:1])
    path.write_bytes(b"garbled\n" + path.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_records(tmp_path) == RECORDS[:1]
    assert "line 1: no record can be read here" in caplog.text


def test_a_full_disk_is_named_and_takes_nothing_of_what_was_kept(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    log = RecordLog(tmp_path, "main")
    log.append(RECORDS[0])
    room = log.path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room + 100, hard))
    try:
        with pytest.raises(StoreError, match=r"records-main.*cannot be written: .*make room there.*--hush-resume"):
            log.append(RECORDS[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert log.path.stat().st_size == room  # no half of a line for a later record to run into
    log.append(RECORDS[2])
    log.close()
    assert {r.key for r in read_records(tmp_path)} == {RECORDS[0].key, RECORDS[2].key}


@pytest.mark.parametrize(
    "line, told",
    [
        (b'{"schema"', r"not JSON \(.* character 10 of the line\)"),
        (b"[1]", "expected a record, one JSON object a line .* read list"),
        (b'{"schema": 1}', "the field 'status' is missing"),
        (b'{"a": "\xff"}', r"not UTF-8 \(byte 8 of the line\)"),
    ],
)
def test_a_garbled_line_is_told_with_its_place_its_fault_and_what_to_do(tmp_path: Path, line: bytes, told: str) -> None:
    (tmp_path / "records-main-1.jsonl").write_bytes(line + b"\n")
    said: list[str] = []
    assert read_records(tmp_path, warn=said.append) == []
    assert re.search(rf"records-main-1\.jsonl, line 1: .*{told}.* --hush-resume", said[0])
