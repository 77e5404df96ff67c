"""``hush report``: a finished run as a page and as Markdown."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_hush.cli import main
from pytest_hush.model import Record
from pytest_hush.packs import load_pack
from pytest_hush.plan import Plan
from pytest_hush.report.show import instrument_pack
from pytest_hush.store import RunFolder, save_baseline
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.pages import Page

STARTER = make_plan(load_pack("starter"), sample=40)
MADE_UP = make_plan(make_pack(4, 3))


def call(*args: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, args), "--thresholds=demo"])


def made(plan: Plan, v: float) -> list[Record]:
    named = instrument_pack(plan.pack)
    return [replace(r, instrument={**r.instrument, "pack": named}) for r in make_records(plan, lambda case: v)]


def kept(folder: Path, plan: Plan = STARTER, v: float = 1.0, root: Path | None = None) -> Path:
    run = RunFolder.create(folder, {"plan_hash": plan.hash, "private": plan.pack.private}, root=root)
    run.keep_plan(plan)
    log = run.log("main")
    for record in made(plan, v):
        log.append(record)
    log.close()
    return folder


def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_both_are_written_and_the_verdicts_change_no_exit_code(tmp_path: Path) -> None:
    run = kept(tmp_path / "run")
    done = call(run, f"--out={tmp_path / 'r.html'}", f"--markdown={tmp_path / 'r.md'}")
    assert done.exit_code == 0, done.output
    assert f"wrote {tmp_path / 'r.html'}: " in done.output
    found = page(tmp_path / "r.html")
    assert found.all("html")[0]["data-status"] == "failed"
    assert found.all("html")[0]["data-exit-code"] == "1"
    assert {c["asked"] for c in found.cases() if c["kind"] == 0} == {c.text for c in STARTER.probe_cases()}
    markdown = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert markdown.startswith("<!-- pytest-hush report -->\n### ❌ hush: FAILED")
    assert (tmp_path / "r.html").stat().st_mode & 0o077 == 0


def test_the_last_run_goes_to_the_default_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path / "run", root=tmp_path)
    monkeypatch.chdir(tmp_path)
    assert call().exit_code == 0
    assert page(tmp_path / "hush-report.html").cases()
    assert call("--markdown=only.md").exit_code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [".hush", "hush-report.html", "only.md", "run"]


def test_probes_of_a_pack_that_is_not_at_hand_are_unknown(tmp_path: Path) -> None:
    run = kept(tmp_path / "run", MADE_UP)
    assert call(run, f"--out={tmp_path / 'r.html'}").exit_code == 0
    assert {c["asked"] for c in page(tmp_path / "r.html").cases()} == {None}
    wrong = call(run, "--pack=starter")
    assert wrong.exit_code == 4
    assert "--pack=starter: it is starter@" in wrong.output
    assert "the run measured made-up@1+" in wrong.output


@pytest.mark.parametrize("private", [True, False])
def test_texts_are_left_out_of_a_private_pack_and_where_it_is_asked(tmp_path: Path, private: bool) -> None:
    plan = make_plan(replace(STARTER.pack, private=private), sample=40)
    run = kept(tmp_path / "run", plan)
    asked = () if private else ("--redact",)
    assert call(run, f"--out={tmp_path / 'r.html'}", f"--markdown={tmp_path / 'r.md'}", *asked).exit_code == 0
    found = page(tmp_path / "r.html")
    assert set(found.blobs) == {"index"}
    assert "fern" not in (tmp_path / "r.html").read_text(encoding="utf-8") + json.dumps(found.index())
    assert ("The pack is private" if private else "Redacted on request") in found.text


@pytest.mark.parametrize("saved", [True, False])
def test_a_baseline_stands_beside(tmp_path: Path, saved: bool) -> None:
    run, main_run = kept(tmp_path / "run"), kept(tmp_path / "main", v=0.0)
    baseline = main_run
    if saved:
        baseline = tmp_path / "b.json"
        save_baseline(baseline, made(STARTER, 0.0), plugin_version="0", today=datetime.date(2026, 1, 1))
    assert call(run, f"--out={tmp_path / 'r.html'}", f"--baseline={baseline}").exit_code == 0
    found = page(tmp_path / "r.html")
    assert found.index()["other"] == {"role": "baseline", "source": str(baseline), "texts": not saved}
    assert all(c["other_v"] == 0 for c in found.cases() if c["paired"])
    assert "beside" in found.ids()


@pytest.mark.parametrize("option", ["--out", "--markdown"])
def test_a_file_that_cannot_be_written_is_one_clear_error(tmp_path: Path, option: str) -> None:
    run = kept(tmp_path / "run")
    done = call(run, f"{option}={tmp_path / 'run' / 'manifest.json' / 'x'}")
    assert done.exit_code == 4
    assert f"ERROR: {option}=" in done.output
    assert "it cannot be written" in done.output


def test_a_folder_that_is_no_run_is_one_clear_error(tmp_path: Path) -> None:
    done = call(tmp_path)
    assert (done.exit_code, "no run here" in done.output) == (4, True)
