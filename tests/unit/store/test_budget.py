from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_hush.errors import BudgetError, StoreError
from pytest_hush.store import Budget


def test_no_call_that_could_exceed_the_limit(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "b", 1.0)
    token = budget.reserve(0.6)
    assert budget.try_reserve(0.6) is None  # the first call may turn out cheaper
    with pytest.raises(BudgetError):
        budget.reserve(0.6)
    budget.settle(token, 0.1)
    assert budget.spent() == pytest.approx(0.1)
    budget.settle(budget.reserve(0.9), None)  # not known: booked in full
    with pytest.raises(BudgetError, match=r"\$1\.0000 is spent .* up to \$0\.0100"):
        budget.try_reserve(0.01)
    budget.close()


def test_a_resumed_run_goes_on_with_what_was_spent(tmp_path: Path) -> None:
    first = Budget(tmp_path / "b", 1.0)
    first.settle(first.reserve(0.7), 0.7)
    first.close()
    second = Budget(tmp_path / "b", 1.0)
    assert second.spent() == pytest.approx(0.7)
    with pytest.raises(BudgetError):
        second.reserve(0.4)
    second.close()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the age of a reservation decides, after 15 minutes")
def test_a_reservation_of_a_dead_process_is_booked_in_full(tmp_path: Path) -> None:
    path = tmp_path / "b"
    code = f"from pytest_hush.store import Budget; Budget({str(path)!r}, 1.0).reserve(0.7)"
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    budget = Budget(path, 1.0)
    with pytest.raises(BudgetError, match=r"\$0\.7000 is spent"):
        budget.try_reserve(0.4)
    assert budget.reserve(0.3)
    budget.close()


def _spend(path: Path, count: int) -> int:
    budget = Budget(path, 1.0)
    made = 0
    for _ in range(count):
        try:
            token = budget.reserve(0.01)
        except BudgetError:
            break
        budget.settle(token, 0.01)
        made += 1
    budget.close()
    return made


def test_processes_share_one_limit(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        made = pool.starmap(_spend, [(tmp_path / "b", 80)] * 2)
    assert sum(made) == 100


def test_a_file_that_is_no_budget(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("no database, a text that is long enough to be read as a header" * 4)
    with pytest.raises(StoreError, match="budget file"):
        Budget(tmp_path / "b", 1.0)


def test_a_budget_that_cannot_be_written_stops_the_run_and_names_the_file(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "budget.sqlite", 1.0)
    budget.close()
    (tmp_path / "budget.sqlite").write_bytes(b"no database, and long enough to be taken for one" * 40)
    with pytest.raises(StoreError, match=r"budget\.sqlite"):
        budget.reserve(0.1)
    full = Budget(tmp_path / "full.sqlite", 1.0)
    full._open().execute("PRAGMA max_page_count = 1")
    full._open().execute("DROP TABLE call")
    with pytest.raises(
        BudgetError, match=r"--hush-max-cost=1: the budget file .*full\.sqlite.*not made.*--hush-resume"
    ):
        full.reserve(0.1)
    full.close()
