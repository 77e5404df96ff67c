"""What several judges say of one another, on every surface; and what the first judge alone would hide."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_hush
from pytest_hush.gate import opinions
from pytest_hush.model import Record
from pytest_hush.report import markdown
from pytest_hush.report.opinions import lines
from pytest_hush.report.rejudge import rejudge_run
from pytest_hush.report.result import result
from pytest_hush.report.show import render_case
from pytest_hush.report.terminal import render
from pytest_hush.store import RunFolder, load_scores, save_baseline
from pytest_hush.thresholds import load_thresholds, parse_thresholds
from tests.unit.report.making import summary_of
from tests.unit.report.pages import Page, page_of, unpack
from tests.unit.report.test_result import PLAN, measured, schema  # noqa: F401

WIDE = """schema = 1
name = "wide"
version = "1"
policy = "conservative-1"
[judge]
aggregate = "{aggregate}"
[[gate]]
id = "uis"
metric = "uis"
condition = "oracle"
at_most = 45.0
"""
TODAY = datetime.date(2026, 6, 1)


def both(second: Callable[[Record], float | None]) -> list[Record]:
    """A run in which `a` sees nothing and `b` what `second` says (None: it could not be read), each reply twice."""
    found = []
    for r in measured():
        r = replace(r, instrument={**r.instrument, "judge": "a+b"})
        if r.kind == "probe":
            (j,) = r.judgements
            v = second(r)
            seen = [] if v is None else [
                replace(j, judge="b", v=x, draw=n, evidence="A fern" if x else "", used=("target",) if x else ())
                for n, x in enumerate((v, v / 2))
            ]  # fmt: skip
            r = replace(r, judgements=(replace(j, judge="a"), *seen))
        found.append(r)
    return found


def gates(aggregate: str) -> Any:
    text = Path(load_thresholds("demo").source).read_text(encoding="utf-8")
    return parse_thresholds(text.replace("[health]", f'[judge]\naggregate = "{aggregate}"\n\n[health]'))


RECORDS = both(lambda r: 0.8 if r.condition == "oracle" else 0.0)


def told(aggregate: str = "first", records: list[Record] = RECORDS) -> Any:
    return summary_of(records, PLAN, gates(aggregate), opinions=opinions(records, PLAN, {}, aggregate))


def test_the_terminal_says_who_judged_and_how_they_agree() -> None:
    text = " ".join(" ".join(render(told())).split())
    assert "Judges: a, b; the gates take a alone." in text
    assert "b beside a: alpha" in text
    assert "no contrast has a direction" in text  # a sees nothing anywhere
    assert "Draws of b: 2 a reply, mean standard deviation of v 9.4 points over 72 replies, at most 28.3." in text
    assert "the gates take the highest of all" in " ".join(" ".join(render(told("max"))).split())
    assert lines(None) == []


def test_a_lost_direction_is_named() -> None:
    records = [
        replace(r, judgements=(replace(r.judgements[0], v=0.5 if r.condition == "vector" else 0.0), *r.judgements[1:]))
        if r.judgements
        else r
        for r in both(lambda r: 0.0)
    ]
    (line,) = (x for x in lines(opinions(records, PLAN, {}, "first")) if "beside a" in x)
    assert "direction kept under b: 0 of 1" in line
    assert "lost: openai/test under vector beside none: +50.0, here +0.0" in line


def test_markdown_has_a_part_of_its_own() -> None:
    text = markdown.comment(told(), exit_code=0, records=RECORDS)
    assert "**Several judgements of a reply**" in text
    assert "Draws of b" in text
    assert "The worst cases" not in text
    assert "The worst cases" in markdown.comment(told("max"), exit_code=0, records=RECORDS)
    assert "Several judgements" not in markdown.comment(summary_of(measured(), PLAN), exit_code=0)


def test_the_result_holds_it_and_the_schema_allows_it(schema: dict[str, Any]) -> None:  # noqa: F811
    for aggregate in ("first", "mean"):
        data = result(told(aggregate), exit_code=0, plugin_version="0.1.0")
        jsonschema.Draft202012Validator(schema).validate(data)
        assert data["judges"]["aggregate"] == aggregate
        assert [s["judge"] for s in data["judges"]["seconds"]] == ["b"]
    assert result(summary_of(measured(), PLAN), exit_code=0, plugin_version="0")["judges"] is None


def test_the_page_shows_each_judge_and_counts_what_the_gates_take() -> None:
    first, highest = (page_of(RECORDS, PLAN, summary=told(a)) for a in ("first", "max"))
    text = Page(first).text
    assert "Several judgements of a reply" in text
    assert "Each contrast under each judge" in text
    assert max(unpack(Page(first).blobs["index"])["columns"]["v"]) == 0
    assert max(unpack(Page(highest).blobs["index"])["columns"]["v"]) == 600  # the mean of two draws, in thousandths
    assert "Several judgements" not in Page(page_of(measured(), PLAN)).text


def test_a_single_case_is_shown_with_every_judgement() -> None:
    record = next(r for r in RECORDS if r.condition == "oracle" and r.judgements)
    text = "\n".join(render_case(record, None))
    assert "second opinion of b: v 0.80" in text
    assert "draw 2 of b: v 0.40" in text


def test_a_finished_run_is_judged_by_another_aggregate(tmp_path: Path) -> None:
    folder = RunFolder.create(
        tmp_path / "run", {"plan_hash": PLAN.hash, "screening_judge": False, "screening_judges": True}
    )
    folder.keep_plan(PLAN)
    log = folder.log("main")
    for record in RECORDS:
        log.append(replace(record, instrument={**record.instrument, "policy": "conservative-1@0123"}))
    log.close()
    values = {}
    for aggregate in ("first", "max"):
        path = tmp_path / f"{aggregate}.toml"
        path.write_text(WIDE.format(aggregate=aggregate), encoding="utf-8")
        found = rejudge_run(folder, str(path), mode="pr", references={}, today=TODAY, warn=print)
        estimate = found.summary.estimate("openai/test", "oracle", "uis")
        assert estimate is not None
        values[aggregate] = (estimate.value, found.summary.screening_judge)
        assert found.summary.opinions is not None
    assert values == {"first": (0.0, False), "max": (pytest.approx(60.0), True)}


def test_a_saved_baseline_keeps_every_judgement(tmp_path: Path) -> None:
    lost = both(lambda r: None if r.probe_id == RECORDS[0].probe_id else 0.5)
    save_baseline(tmp_path / "b.json", lost, plugin_version="0", today=TODAY)
    kept = {
        r.identity: [(j.judge, j.draw, j.v, j.used) for j in r.judgements]
        for r in load_scores(tmp_path / "b.json").records
    }
    assert kept == {
        r.identity: [(j.judge, j.draw, j.v, j.used) for j in r.judgements] for r in lost if r.kind == "probe"
    }
    saved = json.loads((tmp_path / "b.json").read_text())
    assert saved["columns"][-1] == "judgements"
    published = Path(pytest_hush.__file__).parents[1] / "docs/reference/schemas/baseline.schema.json"
    if published.is_file():  # not beside an installed package
        jsonschema.Draft202012Validator(json.loads(published.read_text())).validate(saved)
    save_baseline(tmp_path / "one.json", measured(), plugin_version="0", today=TODAY)
    assert json.loads((tmp_path / "one.json").read_text())["columns"][-1] == "used"
