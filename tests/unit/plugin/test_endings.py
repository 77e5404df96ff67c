"""What a session leaves that does not come to its end: no green exit, no verdict of an earlier session."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_hush.model import Record
from pytest_hush.plugin.conclude import RESULT, forget_result, run_notes
from pytest_hush.plugin.gates import GateKeeper
from pytest_hush.plugin.session import DRY
from tests.unit.factories import make_pack, make_plan, make_record


def state(folder: Path | None, **changes: Any) -> Any:
    """What a `GateKeeper` asks of the session of a run that measured in `folder`."""
    kept = None if folder is None else SimpleNamespace(path=folder, keep_session=lambda *_: None)
    fields = {"worker": None, "dry": False, "active": True, "folder": kept, "messages": (), "calls": lambda: (0, 0)}
    return SimpleNamespace(**{**fields, **changes})


def finished(keeper: GateKeeper, code: int) -> int:
    session: Any = SimpleNamespace(exitstatus=code)
    keeper.pytest_sessionfinish(session, code)
    return int(session.exitstatus)


def test_a_session_that_was_ended_with_0_before_its_gates_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / RESULT).write_text("{}", encoding="utf-8")
    run = state(tmp_path)
    assert finished(GateKeeper(run), 0) == 2
    assert "ended with exit code 0 (pytest.exit)" in run.messages[0]
    assert not (tmp_path / RESULT).exists()
    assert finished(GateKeeper(state(None)), 0) == 2  # before the folder was made


def test_other_endings_keep_their_code(tmp_path: Path) -> None:
    assert finished(GateKeeper(state(tmp_path)), 1) == 1
    assert finished(GateKeeper(state(tmp_path, dry=True)), 0) == 0
    assert finished(GateKeeper(state(tmp_path, worker={})), 0) == 0
    assert finished(GateKeeper(state(None, active=False)), 0) == 0
    done = GateKeeper(state(tmp_path))
    done.ended = True
    assert finished(done, 0) == 0


def test_a_result_that_stands_is_removed_and_anything_else_is_left(tmp_path: Path) -> None:
    forget_result(tmp_path)
    (tmp_path / RESULT).mkdir()
    forget_result(tmp_path)
    assert (tmp_path / RESULT).is_dir()


def test_the_dry_options_are_pytests(pytestconfig: pytest.Config) -> None:
    assert [name for name in DRY if not hasattr(pytestconfig.option, name)] in ([], ["cacheshow"])


def test_what_the_first_look_settled_is_not_told_as_missing() -> None:
    plan = make_plan(make_pack(2, 1))
    records: list[Record] = [make_record(case, plan) for case in plan.cases[:2]]
    part = SimpleNamespace(cases=plan.cases[:3])
    session: Any = SimpleNamespace(
        setup=SimpleNamespace(plan=plan), calls=lambda: (0, 0), options=SimpleNamespace(explain_misses=False)
    )
    told = run_notes(session, records, part)  # type: ignore[arg-type]
    total = len(plan.cases)
    assert told[0].startswith(f"Not needed: {total - 3} of {total} cases.")
    assert told[1].startswith(f"Not measured: 1 absent of {total} cases.")
    assert not any(line.startswith("Not needed") for line in run_notes(session, records, plan))
