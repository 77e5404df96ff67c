"""Saved baselines as a history: their order, breaks of the instrument, the same numbers on every surface."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from pytest_hush.cli import main
from pytest_hush.model import Record
from pytest_hush.report.history import read_history
from pytest_hush.report.html.history_page import render_history
from pytest_hush.report.html.history_svg import picture
from pytest_hush.report.levels import levels
from pytest_hush.store import save_baseline
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.gate.making import TODAY
from tests.unit.report.pages import Page, outside, policy_of

PLAN = make_plan(make_pack(5, 2), conditions="vector")
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script>‮.json"


def measured(share: float, **instrument: str) -> list[Record]:
    rng = random.Random(f"{share}")
    records = make_records(PLAN, lambda c: float(rng.random() < share))
    return [replace(r, instrument={**r.instrument, **instrument}) for r in records]


def keep(path: Path, day: int, records: Sequence[Record], *, bare: bool = False, **about: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    options = {} if bare else {"estimates": levels(records, PLAN), "measured": f"2026-06-{day:02d}T08:00:00+00:00"}
    revision = {"commit": f"{day:040x}", "dirty": False}
    save_baseline(path, records, plugin_version="0.1", today=TODAY, **{"revision": revision} | options | about)


def call(*args: object) -> Result:
    return CliRunner().invoke(main, ["history", *map(str, args)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs in names that say nothing of their order; the judge changed before the fourth."""
    home = tmp_path_factory.mktemp("made") / "history"
    for day, name in ((3, "a"), (1, "b"), (2, "deep/c")):
        keep(home / f"{name}.json", day, measured(day / 10))
    for day, name in ((4, "0"), (5, "z")):
        keep(home / f"{name}.json", day, measured(day / 10, judge_version="9"))
    return home


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "history"))


def test_the_moment_of_measuring_orders_them(folder: Path) -> None:
    found = read_history(folder)
    assert [e.name for e in found.entries] == ["b.json", "deep/c.json", "a.json", "0.json", "z.json"]
    assert [e.broken for e in found.entries] == [(), (), (), ("judge version: 1 → 9",), ()]
    lines = {line.name: line for line in found.lines}
    assert list(lines) == ["none", "vector"]
    assert [[p.place for p in piece] for piece in lines["vector"].pieces] == [[0, 1, 2], [3, 4]]
    expected = [e["value"] for e in levels(measured(0.1), PLAN) if (e["condition"], e["metric"]) == ("vector", "uis")]
    assert lines["vector"].points[0].value == expected[0]


def test_nothing_is_connected_across_a_break(folder: Path) -> None:
    root = ElementTree.fromstring(picture(read_history(folder)))
    lines = list(root.iter(f"{SVG}polyline"))
    assert [len((e.get("points") or "").split()) for e in lines] == [3, 2, 3, 2]
    breaks = [e for e in root.iter(f"{SVG}line") if e.get("class") == "break"]
    assert len(breaks) == 2
    for first, second, gap in zip(lines[::2], lines[1::2], breaks, strict=True):
        end = float((first.get("points") or "").split()[-1].split(",")[0])
        start = float((second.get("points") or "").split()[0].split(",")[0])
        assert end < float(gap.get("x1") or "") < start


def test_the_page_has_every_number_of_the_charts(folder: Path) -> None:
    history = read_history(folder)
    text = render_history(history)
    page = Page(text)
    assert outside(text) == []
    assert page.scripts == []
    assert "script-src" in policy_of(page)
    charts = [a for a in page.all("svg") if a.get("class") == "chart"]
    assert [c["role"] for c in charts] == ["img", "img"]
    assert "UIS under vector in 5 runs" in (charts[1]["aria-label"] or "")
    for line in history.lines:
        for point in line.points:
            assert f"{point.value:.1f} [{point.lower:.1f}, {point.upper:.1f}]" in page.text
    assert "The instrument changed here" in page.text
    assert page.text.index("z.json") < page.text.index("b.json")


def test_text_says_the_same_and_files_are_written(folder: Path, tmp_path: Path) -> None:
    result = call(folder, "--svg", tmp_path / "h.svg", "--html", tmp_path / "h.html")
    assert result.exit_code == 0, result.output
    assert "UIS over 5 saved baselines, the oldest first" in result.output
    assert "judge version: 1 → 9" in " ".join(result.output.split())
    assert result.output.index(f"{1:040x}"[:12]) < result.output.index("changed here")
    assert (tmp_path / "h.svg").read_text(encoding="utf-8").startswith("<svg xmlns=")
    assert (tmp_path / "h.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_what_is_no_baseline_is_named_and_the_rest_is_drawn(folder: Path) -> None:
    (folder / "torn.json").write_text("{", encoding="utf-8")
    (folder / "result.json").write_text('{"schema": 1}', encoding="utf-8")
    result = call(folder)
    assert result.exit_code == 0
    assert "left out: torn.json: not a whole baseline" in result.output
    assert "left out: result.json: read kind None" in result.output
    assert "UIS over 5 saved baselines" in result.output


@pytest.mark.parametrize("what", ["nowhere", "empty", "foreign"])
def test_no_baseline_at_all_is_one_clear_error(tmp_path: Path, what: str) -> None:
    if what != "nowhere":
        (tmp_path / what).mkdir()
    if what == "foreign":
        (tmp_path / what / "x.json").write_text("[]", encoding="utf-8")
    result = call(tmp_path / what)
    assert result.exit_code == 4
    assert ("no such folder" if what == "nowhere" else "no saved baseline is in it") in result.output


def test_files_of_an_older_version_have_points_without_bounds(tmp_path: Path) -> None:
    keep(tmp_path / "old.json", 1, measured(0.5), bare=True)
    data = json.loads((tmp_path / "old.json").read_text(encoding="utf-8"))
    for name in ("estimates", "personas", "measured", "revision"):
        del data[name]
    (tmp_path / "old.json").write_text(json.dumps(data), encoding="utf-8")
    history = read_history(tmp_path)
    vector = history.lines[1].points[0]
    assert (vector.lower, vector.upper) == (None, None)
    assert 0 < vector.value < 100
    assert history.entries[0].measured == TODAY.isoformat()
    assert 'class="whisker"' not in picture(history)
    assert "old.json" in render_history(history)


def test_several_models_are_several_lines(tmp_path: Path) -> None:
    two = make_plan(PLAN.pack, conditions="vector", models=["openai/a", "openai/b"])
    records = make_records(two, lambda c: 0.5)
    save_baseline(tmp_path / "x.json", records, plugin_version="0", today=TODAY, estimates=levels(records, two))
    assert [line.name for line in read_history(tmp_path).lines][2:] == ["vector · openai/a", "vector · openai/b"]


def test_a_change_of_the_subject_is_told_and_connected(tmp_path: Path) -> None:
    keep(tmp_path / "1.json", 1, measured(0.1))
    new = [replace(r, subject={**r.subject, "prompts": "new@1"}) for r in measured(0.1)]
    keep(tmp_path / "2.json", 2, new)
    history = read_history(tmp_path)
    assert history.entries[1].changed == ("prompts: None then, 'new@1' now",)
    assert [len(line.pieces) for line in history.lines] == [1, 1]


@pytest.mark.parametrize("draw", [render_history, picture])
def test_a_hostile_name_is_text(tmp_path: Path, draw: Callable[..., str]) -> None:
    name = HOSTILE.replace("/", "-")
    keep(tmp_path / name, 1, measured(0.1), revision={"commit": "", "dirty": None})
    text = draw(read_history(tmp_path))
    assert "<script" not in text
    assert "‮" not in text
    if draw is picture:
        ElementTree.fromstring(text)


def test_a_hundred_runs_are_drawn_and_named_at_the_ends(tmp_path: Path) -> None:
    keep(tmp_path / "0.json", 1, measured(0.2))
    data = json.loads((tmp_path / "0.json").read_text(encoding="utf-8"))
    for k in range(1, 100):
        data["measured"] = f"2026-07-01T{k // 60:02d}:{k % 60:02d}:00+00:00"
        (tmp_path / f"{k}.json").write_text(json.dumps(data), encoding="utf-8")
    root = ElementTree.fromstring(picture(read_history(tmp_path)))
    places = [float(e.get("cx") or "") for e in root.iter(f"{SVG}circle")]
    assert len(places) == 200
    assert all(0 <= x <= 360 for x in places)
    assert places[:100] == sorted(places[:100])


def test_names_stand_below_their_points(folder: Path) -> None:
    root = ElementTree.fromstring(picture(read_history(folder)))
    points = [float(x.attrib["cx"]) for x in root.iter(f"{SVG}circle")]
    named = [float(x.attrib["x"]) for x in root.iter(f"{SVG}text") if x.attrib.get("text-anchor") == "middle"]
    assert {points[0], points[2], points[4]} == set(named), "the first, the middle and the last of five"
    assert max(named) + 30 <= 360 * 1, "the last name, some 60 wide, is inside of the picture"
