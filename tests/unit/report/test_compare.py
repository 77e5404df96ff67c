"""Two runs side by side: the same numbers from folders and from saved baselines, and refusals that name the field."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_hush.cli import main
from pytest_hush.gate import contrasts, reference
from pytest_hush.model import Exposure, Record
from pytest_hush.plan import Plan
from pytest_hush.report.compare import compare, read_side
from pytest_hush.report.compare_text import data, render
from pytest_hush.report.html.compare_page import render_comparison
from pytest_hush.report.levels import levels
from pytest_hush.store import RunFolder, save_baseline
from tests.unit.factories import make_pack, make_plan
from tests.unit.gate.making import TODAY, failed, run
from tests.unit.report.pages import Page, outside

PLAN = make_plan(make_pack(6, 3), conditions="vector,oracle")
OLD = run(PLAN, 1)
WORSE = [
    replace(r, judgements=(replace(r.judgements[0], v=1.0, target_uptake=1.0, evidence="a fern"),), reply="Your debt!")
    if r.kind == "probe" and r.condition == "vector" and r.probe_id.endswith("-at") and not r.invited
    else r
    for r in OLD
]
COMMIT = "c" * 40


def folder(path: Path, records: Sequence[Record], plan: Plan = PLAN, **about: Any) -> Path:
    found = RunFolder.create(path, {"plan_hash": plan.hash, "private": False} | about)
    found.keep_plan(plan)
    log = found.log("main")
    for record in records:
        log.append(record)
    log.close()
    return path


def saved(path: Path, records: Sequence[Record], plan: Plan = PLAN, **about: Any) -> Path:
    options = {"estimates": levels(records, plan)} | about
    save_baseline(path, records, plugin_version="0.1", today=TODAY, **options)
    return path


def call(*args: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, args)])


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    revision = {"commit": COMMIT, "dirty": False}
    return folder(tmp_path / "a", OLD), folder(tmp_path / "b", WORSE, revision=revision)


def test_differences_are_those_of_the_gates(sides: tuple[Path, Path]) -> None:
    found = compare(read_side("A", sides[0]), read_side("B", sides[1]))
    expected = contrasts(WORSE, PLAN, {"baseline": reference("baseline", "a", OLD)})
    uis = {c.condition: c for c in expected if c.versus == "baseline" and c.metric == "uis"}
    rows = {(r.condition, r.metric): r for r in found.rows}
    assert {c: rows[c, "uis"].difference for c in uis} == uis
    row = rows["vector", "uis"]
    assert row.a is not None
    assert row.b is not None
    assert row.b["value"] - row.a["value"] == pytest.approx(row.difference.value)
    assert [m for c, m in rows if c == "vector"] == ["uis", "over_scope", "helpfulness", "exposure", "target_uptake"]
    assert found.same + len(found.worse) + len(found.better) == len([r for r in OLD if r.kind == "probe"])
    changes = [c.change for c in found.worse]
    assert changes == sorted(changes, reverse=True)
    assert all(c.probe_id.endswith("-at") and c.condition == "vector" for c in found.worse)
    assert found.better == ()


@pytest.mark.parametrize("bare", [False, True], ids=["as saved", "as an older version saved"])
def test_saved_baselines_give_the_same_as_folders(tmp_path: Path, sides: tuple[Path, Path], bare: bool) -> None:
    files = [saved(tmp_path / f"{name}.json", r) for name, r in (("a", OLD), ("b", WORSE))]
    for path in files if bare else []:
        old = json.loads(path.read_text(encoding="utf-8"))
        for name in ("estimates", "personas", "measured", "revision"):
            del old[name]
        path.write_text(json.dumps(old), encoding="utf-8")
    whole = data(compare(*(read_side(n, p) for n, p in zip("AB", sides, strict=True))))
    kept = data(compare(*(read_side(n, p) for n, p in zip("AB", files, strict=True))))
    assert [c["id"] for c in kept["cases"]["worse"]] == [c["id"] for c in whole["cases"]["worse"]]
    values = [(r["condition"], r["metric"], r["difference"]["value"]) for r in whole["rows"]]
    assert sorted((r["condition"], r["metric"], r["difference"]["value"]) for r in kept["rows"]) == sorted(values)
    if not bare:
        by = {(r["condition"], r["metric"]): r for r in kept["rows"]}
        for row in whole["rows"]:
            assert by[row["condition"], row["metric"]]["difference"] == row["difference"]
            assert by[row["condition"], row["metric"]]["b"] == row["b"]
    else:
        assert "names no personas" in kept["notes"][0]
        text = "\n".join(render(compare(*(read_side(n, p) for n, p in zip("AB", files, strict=True)))))
        assert "p -" in text or " -  " in text
    # One side with personas lends them to the other.
    mixed = data(compare(read_side("A", files[0]), read_side("B", sides[1])))
    assert [r["difference"]["lower"] for r in mixed["rows"]] == [r["difference"]["lower"] for r in whole["rows"]]


@pytest.mark.parametrize(
    "change, field",
    [
        (lambda i: {**i, "judge_version": "2"}, "judge_version: '1' in A, '2' in B"),
        (lambda i: {**i, "rubric": "other@1"}, "rubric: None in A, 'other@1' in B"),
    ],
)
def test_two_instruments_are_refused_by_name(
    tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any]], field: str
) -> None:
    other = [replace(r, instrument=change(dict(r.instrument))) for r in WORSE]
    page = tmp_path / "page.html"
    result = call(folder(tmp_path / "a", OLD), folder(tmp_path / "b", other), "--html", page)
    assert result.exit_code == 4
    assert field in result.output
    assert "two instruments" in result.output
    assert not page.exists()


def test_what_is_missing_on_one_side_widens_and_is_told(tmp_path: Path, sides: tuple[Path, Path]) -> None:
    lost = [failed(r) if r.condition == "vector" and r.probe_id.startswith("p01") else r for r in WORSE]
    found = compare(read_side("A", sides[0]), read_side("B", folder(tmp_path / "lost", lost)))
    row = next(r for r in found.rows if (r.condition, r.metric) == ("vector", "uis"))
    assert row.difference.missing == 12
    assert found.only_a == 12
    assert "12 only in A" in " ".join(" ".join(render(found)).split())


def test_another_model_stands_beside_the_only_one(tmp_path: Path, sides: tuple[Path, Path]) -> None:
    plan = make_plan(PLAN.pack, conditions="vector,oracle", models=["openai/new"])
    new = run(plan, 1)
    found = compare(read_side("A", sides[0]), read_side("B", folder(tmp_path / "new", new, plan)))
    assert found.notes == ("openai/test in A stands beside openai/new in B (under none, oracle, vector).",)
    assert any("model: 'openai/test' then, 'openai/new' now" in f for c in found.beside for f in c.changed)


def test_nothing_in_common_is_one_clear_error(tmp_path: Path, sides: tuple[Path, Path]) -> None:
    one, two = (make_plan(make_pack(3, 1), models=[f"openai/{m}" for m in names]) for names in ("ab", "cd"))
    result = call(folder(tmp_path / "one", run(one, 1), one), folder(tmp_path / "two", run(two, 1), two))
    assert (result.exit_code, "No case was measured in both" in result.output) == (4, True)
    assert call(sides[0], tmp_path / "nowhere").exit_code == 4


def test_the_table_says_it_in_words(sides: tuple[Path, Path]) -> None:
    result = call(*sides)
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert f"commit {COMMIT[:12]}" in text
    assert "the same instrument: judge embedded, judge version 1, pack made-up" in text
    assert "worse, the largest change first: +1.00: 0.00 then, 1.00 now: openai/test-vector-p0" in text
    assert "changed under none, vector, oracle: nothing in the recorded subject" in text
    for line in result.output.splitlines():
        assert len(line) <= 80


def test_json_is_data_alone(sides: tuple[Path, Path], tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["compare", *map(str, sides), "--json", f"--html={tmp_path / 'c.html'}"])
    found = json.loads(result.stdout)
    assert (found["schema"], found["kind"]) == (1, "pytest-hush comparison")
    assert found["sides"][1]["revision"] == {"commit": COMMIT, "dirty": False}
    assert "Your debt!" not in result.stdout


def test_a_shard_is_compared_as_the_part_that_it_is(tmp_path: Path, sides: tuple[Path, Path]) -> None:
    part = replace(PLAN, shard=(1, 3))
    own = {c.probe_id for c in PLAN.cases if part.in_shard(c)}
    shard = folder(tmp_path / "shard", [r for r in WORSE if r.probe_id in own], shard="1/3")
    found = compare(read_side("A", sides[0]), read_side("B", shard))
    assert found.notes[0] == "B is shard 1/3 of its run: only that part is compared."
    assert {r.difference.missing for r in found.rows} == {0}


# ---- the page ---------------------------------------------------------------------------------------


def test_the_page_holds_both_texts_and_links_to_cases(sides: tuple[Path, Path], tmp_path: Path) -> None:
    assert call(*sides, "--html", tmp_path / "c.html").exit_code == 0
    text = (tmp_path / "c.html").read_text(encoding="utf-8")
    page = Page(text)
    assert outside(text) == []
    links = [a["href"] for a in page.all("a") if (a.get("href") or "").startswith("#case=")]
    assert len(links) == 10
    cases = {f"#case={c['model'].replace('/', '/')}-{c['condition']}-{c['probe']}": c for c in page.cases()}
    first = cases[links[0].replace("%2F", "/")]
    assert first["reply"] == "Your debt!"
    assert first["other"][0] == "A fern likes shade."
    assert {"runs", "levels", "worse", "cases"} <= page.ids()
    assert "better" not in page.ids()
    assert f"commit {COMMIT[:12]}" in page.text


@pytest.mark.parametrize("private", [True, False])
def test_no_text_where_it_must_not_be(sides: tuple[Path, Path], tmp_path: Path, private: bool) -> None:
    first, second = sides
    if private:
        plan = replace(PLAN, pack=replace(PLAN.pack, private=True))
        second = folder(tmp_path / "private", WORSE, plan)
    more = [] if private else ["--redact"]
    assert call(first, second, "--html", tmp_path / "c.html", *more).exit_code == 0
    page = Page((tmp_path / "c.html").read_text(encoding="utf-8"))
    assert page.index()["texts_are"] is False
    assert page.index()["columns"]["v"]


def test_scores_alone_have_a_page_too(tmp_path: Path) -> None:
    files = [saved(tmp_path / f"{n}.json", r) for n, r in (("a", OLD), ("b", WORSE))]
    assert call(*files, "--html", tmp_path / "c.html").exit_code == 0
    assert "B was saved as scores alone" in Page((tmp_path / "c.html").read_text(encoding="utf-8")).text


def test_exposure_that_nobody_knows_is_no_number(tmp_path: Path) -> None:
    closed = [replace(r, exposure=Exposure()) for r in OLD]
    found = compare(read_side("A", folder(tmp_path / "a", closed)), read_side("B", folder(tmp_path / "b", closed)))
    assert {r.metric for r in found.rows if r.condition == "vector"} == {
        "uis",
        "over_scope",
        "helpfulness",
        "target_uptake",
    }


def test_an_improvement_has_a_small_p_as_a_rise_has(sides: tuple[Path, Path]) -> None:
    there, back = (compare(read_side("A", a), read_side("B", b)) for a, b in (sides, sides[::-1]))
    rise, fall = ({(r.condition, r.metric): r for r in found.rows} for found in (there, back))
    key = ("vector", "uis")
    assert (rise[key].difference.value or 0) > 0 > (fall[key].difference.value or 0)
    assert fall[key].p == rise[key].p == 2 * 2.0**-6  # six personas, all of which moved one way
    assert fall[key].difference.flip_p == 1.0  # the gates' own p, of a rise alone
    assert fall["oracle", "uis"].p == 1.0
    assert "two-sided p" in "\n".join(render(back))
    assert {r["p_two_sided"] for r in data(back)["rows"] if r["condition"] == "oracle"} == {1.0}


def test_the_page_names_the_sides_and_folds_what_did_not_change(sides: tuple[Path, Path]) -> None:
    page = Page(render_comparison(compare(read_side("A", sides[0]), read_side("B", sides[1])), pack=PLAN.pack))
    assert (page.index()["other"]["name"], page.index()["other"]["here"]) == ("A", "B")
    assert "baseline" not in page.text.replace("saved baseline", "")
    assert len([a for a in page.all("details") if a.get("class") == "still"]) == 2, "none and oracle"
    assert "Two-sided p" in page.text
