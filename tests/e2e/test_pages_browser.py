"""The pages of `hush compare` and `hush history` in a real browser: links, nothing asked for, accessibility."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pytest_hush.report.compare import compare, read_side
from pytest_hush.report.history import read_history
from pytest_hush.report.html.compare_page import render_comparison
from pytest_hush.report.html.history_page import render_history
from tests.e2e.test_report_browser import Open, browser, opened  # noqa: F401  (fixtures)
from tests.unit.factories import make_pack, make_plan
from tests.unit.gate.making import run
from tests.unit.report.test_compare import folder
from tests.unit.report.test_history import keep, measured

pytestmark = pytest.mark.real
PLAN = make_plan(make_pack(5, 2), conditions="vector,oracle")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("runs")
    old = run(PLAN, 1)
    new = [
        dataclasses.replace(
            r,
            reply=f"Now I remember {r.probe_id}: <b>your debt</b>",
            judgements=(dataclasses.replace(r.judgements[0], v=1.0, evidence="your debt"),),
            subject={**r.subject, "prompts": "new@1"},
        )
        if r.condition == "oracle" and r.kind == "probe" and "-d01-" in r.probe_id
        else r
        for r in old
    ]
    sides = [read_side(n, folder(home / n, records, PLAN)) for n, records in (("A", old), ("B", new))]
    return render_comparison(compare(*sides), pack=PLAN.pack)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("history")
    for day in range(1, 13):
        keep(home / f"{day}.json", day, measured(day / 30, judge_version="1" if day < 6 else "2"))
    (home / "torn.json").write_text("{", encoding="utf-8")
    return render_history(read_history(home))


def test_a_case_that_got_worse_is_one_click_away(opened: Open, comparison: str) -> None:  # noqa: F811
    page = opened(comparison)
    link = page.locator("section[aria-labelledby=worse] a").first
    name = link.inner_text()
    link.click()
    page.wait_for_selector(".two")
    assert page.locator("#detail h3").inner_text() == name
    then, now = page.locator(".two > div").nth(2), page.locator(".two > div").nth(3)
    assert "A fern likes shade." in then.inner_text()
    assert "<b>your debt</b>" in now.inner_text()
    assert page.locator(".text .new").count() > 0
    again = opened(comparison, fragment=page.evaluate("location.hash"))
    again.wait_for_selector("#detail .two")
    assert again.locator("#detail h3").inner_text() == name


def test_filters_know_what_changed(opened: Open, comparison: str) -> None:  # noqa: F811
    page = opened(comparison)
    page.select_option("#f-change", "worse")
    shown = int(page.locator("#count").inner_text().split()[0])
    told = page.locator("section[aria-labelledby=worse] tbody tr").count()
    assert shown >= told > 0


def test_the_history_needs_no_script(opened: Open, history: str) -> None:  # noqa: F811
    page = opened(history, wait=False, java_script_enabled=False)
    assert page.locator("svg.chart").count() == 2
    assert page.locator("svg.chart .break").count() == 2
    assert page.locator("table.history tbody tr").count() == 13
    assert page.locator(".notices").inner_text().startswith("Left out: torn.json.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["comparison", "history"])
def test_accessibility(
    opened: Open,  # noqa: F811
    request: pytest.FixtureRequest,
    name: str,
    scheme: str,
    width: int,
) -> None:
    """axe-core, with every fold open: no finding at all, and nothing wider than the screen."""
    axe: Any = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    text = request.getfixturevalue(name)
    screen = {"width": width, "height": 900}
    page = opened(text, wait=name == "comparison", color_scheme=scheme, viewport=screen, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = axe.Axe().run(page).response["violations"]
    assert [(v["id"], [n["html"][:160] for n in v["nodes"]][:3]) for v in found] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_picture_is_drawn_by_itself(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    from pytest_hush.report.html.history_svg import picture

    for day in (1, 2, 3):
        keep(tmp_path / f"{day}.json", day, measured(day / 5))
    (tmp_path / "h.svg").write_text(picture(read_history(tmp_path)), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "h.svg").as_uri())
    assert page.evaluate("document.querySelector('polyline').getBoundingClientRect().width") > 100
    page.close()
