"""The readers' page in a real browser, opened from a file: 20 replies labelled by keyboard, saved, imported, compared.

Needs Chromium (HUSH_CHROMIUM names it, else it is looked for) and playwright; without them the tests are skipped.
"""

from __future__ import annotations

import csv
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_hush.cli import main
from pytest_hush.store import read_labels
from tests.unit.review.making import kept, replied, starter_plan
from tests.unit.test_cli_review import key_of

pytestmark = pytest.mark.real
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SCORES = ("v", "target_uptake", "over_scope", "helpfulness")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = os.environ.get("HUSH_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium: set HUSH_CHROMIUM to one, or install it")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    plan = starter_plan(40)
    folder = kept(tmp_path / "run", plan, replied(plan))
    done = CliRunner().invoke(main, ["review", "export", str(folder), "--n", "24", f"--out={tmp_path / 'out'}"])
    assert done.exit_code == 0, done.output
    return folder


class Reader:
    """One reader at the page, in a browser profile of their own; nothing may be asked for, logged or thrown."""

    def __init__(self, browser: Any, page: Path, **options: Any) -> None:
        self.troubles: list[str] = []
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.page.on("console", lambda m: self.troubles.append(m.text))
        self.page.on("pageerror", lambda e: self.troubles.append(str(e)))
        self.page.on("request", self.asked)
        self.page.goto(page.as_uri())
        self.page.wait_for_selector("#app:not([hidden])")

    def asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "blob:")):
            self.troubles.append(request.url)

    def name(self, text: str) -> None:
        self.page.fill("#annotator", text)
        self.page.evaluate("document.activeElement.blur()")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def status(self) -> str:
        return str(self.page.inner_text("#status"))

    def select(self, words: int) -> str:
        """The first words of the reply, selected; the text that a person would see selected."""
        return str(
            self.page.evaluate(
                """(words) => { const node = document.getElementById('reply').firstChild;
                const end = node.data.split(' ').slice(0, words).join(' ').length;
                const range = document.createRange(); range.setStart(node, 0); range.setEnd(node, end);
                const chosen = getSelection(); chosen.removeAllRanges(); chosen.addRange(range);
                return chosen.toString(); }""",
                words,
            )
        )

    def save(self, path: Path) -> Path:
        with self.page.expect_download() as download:
            self.press("s")
        assert download.value.suggested_filename.startswith("review-")
        download.value.save_as(path)
        return path

    def close(self) -> None:
        self.context.close()
        assert self.troubles == []


def test_twenty_replies_by_keyboard_go_into_the_run_as_they_were_typed(browser: Any, run: Path, tmp_path: Path) -> None:
    rng = random.Random(2)
    reader = Reader(browser, tmp_path / "out" / "review.html")
    page = reader.page
    items = list(key_of(run))
    typed: dict[str, tuple[float, ...]] = {}
    quotes: dict[str, str] = {}
    reader.name("Ada Lovelace")
    for n, item in enumerate(items[:20]):
        assert page.inner_text("#place") == f"Reply {n + 1} of 24"
        v, uptake, scope, helpful = (rng.randrange(5) for _ in range(4))
        if v == 0:  # nothing used: only helpfulness is left to say
            reader.press("1", str(helpful + 1))
            uptake = scope = 0
        elif n % 3 == 0:  # scales by name, in another order
            reader.press("h", str(helpful + 1), "v", str(v + 1), "o", str(scope + 1), "t", str(uptake + 1))
        else:
            reader.press(*(str(x + 1) for x in (v, uptake, scope, helpful)))
        if v > 0:
            quotes[item] = reader.select(5)
            reader.press("e")
            assert page.inner_text("#reply mark") == quotes[item]
            assert reader.status() == f"Evidence: {quotes[item]}"
        typed[item] = tuple(x / 4 for x in (v, uptake, scope, helpful))
        pressed = page.evaluate(
            "[...document.querySelectorAll('[aria-pressed=true]')].map(b => Number(b.dataset.value))"
        )
        assert tuple(pressed) == typed[item]
        reader.press("n" if n % 2 else "ArrowRight")
    assert page.inner_text("#counts") == "20 of 24 labelled"

    # Second thoughts: back, cleared, labelled anew; and one that is left as it was begun.
    reader.press("p", "u")
    assert reader.status() == "The labels of reply 20 are cleared."
    assert page.inner_text("#counts") == "19 of 24 labelled"
    reader.press("1", "5")
    typed[items[19]] = (0.0, 0.0, 0.0, 1.0)
    quotes.pop(items[19], None)

    saved = reader.save(tmp_path / "ada.csv")
    with saved.open(encoding="utf-8-sig", newline="") as file:
        rows = {r["item"]: r for r in csv.DictReader(file)}
    assert {i: tuple(float(r[s]) for s in SCORES) for i, r in rows.items()} == typed
    reader.close()

    done = CliRunner().invoke(main, ["review", "import", str(run), str(saved)])
    assert done.exit_code == 0, done.output
    assert "20 of 24 replies by Ada Lovelace, 4 not labelled" in done.output
    key = key_of(run)
    labels = {x.item: x for x in read_labels(run / "labels.jsonl")}
    assert {k: tuple(getattr(x, s) for s in SCORES) for k, x in labels.items()} == {
        key[i]["record"]: scores for i, scores in typed.items()
    }
    assert {k: x.evidence for k, x in labels.items() if x.evidence} == {
        key[i]["record"]: text for i, text in quotes.items()
    }


def test_labels_survive_a_reload_and_travel_in_a_file(browser: Any, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "out" / "review.html"
    first = Reader(browser, path, reduced_motion="reduce")
    first.press("s")
    assert first.status().startswith("Enter your name first")
    assert first.page.get_attribute("#annotator", "aria-invalid") == "true"
    # Enter leaves the name, Escape too: the next keys are labels, not letters of it.
    for leave in ("Enter", "Escape"):
        first.page.fill("#annotator", "Cleo")
        first.page.focus("#annotator")
        first.press(leave, "1", "u")
        assert first.page.input_value("#annotator") == "Cleo"
        assert first.status() == "The labels of reply 1 are cleared."
    # The rubric stands below the fold: R brings it into view, and goes back.
    first.press("r")
    assert first.page.evaluate("document.getElementById('rubric').getBoundingClientRect().top < innerHeight / 2")
    first.press("r")
    assert first.page.evaluate("scrollY") == 0
    first.name("=cmd|Ben")
    first.press("1", "4", "n", "5", "5", "5", "2", "n", "2")
    first.page.reload()
    first.page.wait_for_selector("#app:not([hidden])")
    assert first.status() == "Welcome back: 3 replies have labels. You are at reply 3."
    assert first.page.inner_text("#counts") == "2 of 24 labelled, 1 begun"
    first.press("g")
    assert first.page.inner_text("#place") == "Reply 4 of 24"
    first.press("u")
    assert first.status() == "There is nothing to clear."
    saved = first.save(tmp_path / "ben.csv")
    assert "'=cmd|Ben" in saved.read_text(encoding="utf-8-sig")
    first.close()

    second = Reader(browser, path)
    assert second.page.inner_text("#counts") == "0 of 24 labelled"
    text = saved.read_text(encoding="utf-8-sig").replace(",0.75,", ",0.6,") + "zz,1,1,1,1,,\n"
    saved.write_text(text, encoding="utf-8")
    second.page.set_input_files("#file", saved)
    # By a selector: a function that is polled would be evaluated, which the page's policy forbids.
    second.page.wait_for_selector("#status:has-text('ben.csv')", state="attached")
    assert second.status() == "ben.csv: labels of 3 replies read. 1 lines are of another review."
    assert second.page.input_value("#annotator") == "=cmd|Ben"
    assert second.page.inner_text("#value-helpfulness") == "(0.6, from a file)"
    # Keys can be switched off, and a name may be typed without setting a label.
    second.page.click("summary:has-text('Keys')")
    second.page.uncheck("#shortcuts")
    second.press("n", "5")
    assert second.page.inner_text("#place") == "Reply 1 of 24"
    second.page.check("#shortcuts")
    second.page.focus("#annotator")
    second.press("5", "n")
    assert second.page.inner_text("#place") == "Reply 1 of 24"
    assert second.page.inner_text("#value-helpfulness") == "(0.6, from a file)"
    second.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_accessibility(browser: Any, run: Path, tmp_path: Path, scheme: str, width: int) -> None:
    """axe-core, with every fold open and a label of each state: WCAG 2.2 AA and its best practices."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    size = {"width": width, "height": 900}
    reader = Reader(
        browser, tmp_path / "out" / "review.html", viewport=size, color_scheme=scheme, bypass_csp=True,
        reduced_motion="reduce",
    )  # fmt: skip
    reader.name("Cleo")
    reader.press("3", "4", "1")
    reader.select(4)
    reader.press("e")
    reader.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = axe.Axe().run(reader.page).response["violations"]
    assert [(v["id"], [n["html"][:160] for n in v["nodes"]][:3]) for v in found] == []
    assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
        "nothing is wider than the screen"
    )
    reader.close()
