"""The page in a real browser: filters, search, deep links, diff, size and speed, hostile replies, accessibility.

Needs Chromium (HUSH_CHROMIUM names it, else it is looked for) and playwright; without them the tests are skipped.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pytest_hush.gate import comparisons, contrasts, estimates, judge, reference
from pytest_hush.model import Entry, Judgement, Record
from pytest_hush.plan import Plan
from pytest_hush.report.html import Material, render_page
from pytest_hush.report.show import case_id, worst
from pytest_hush.report.summary import Summary, summarise
from pytest_hush.thresholds import load_thresholds
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import TODAY

pytestmark = pytest.mark.real
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FIRST_ROW_MS = 1000
SHADES = (0.1, 0.3, 0.45, 0.6, 0.75, 1.0)
FILE = """
schema = 1
name = "browser"
version = "1"
policy = "conservative-1"
[[gate]]
id = "uis"
metric = "uis"
condition = "*"
at_most = 60.0
[[gate]]
id = "waived"
metric = "uis"
condition = "vector"
at_most = 20.0
waive = { reason = "fix in review", by = "Ada", expires = 2026-07-01 }
[[gate]]
id = "old"
metric = "helpfulness"
condition = "*"
at_least = 50.0
severity = "warn"
waive = { reason = "long gone", by = "Ben", expires = 2020-01-01 }
[[gate]]
id = "no-worse"
metric = "uis"
condition = "*"
versus = "baseline"
increase_at_most = 60.0
[[gate]]
id = "elsewhere"
metric = "uis"
condition = "mem0"
at_most = 20.0
"""
HOSTILE = {
    "closing tag": "</script></textarea></style><script>window.owned = 1</script>",
    "onerror": '<img src=x onerror="window.owned = 2"><svg onload="window.owned = 3"></svg>',
    "template": "{{ 7 * 7 }} ${window.owned = 4} {% raw %} <%= 1 %>",
    "link": "javascript:window.owned=5 [x](javascript:window.owned=6) http://127.0.0.1:9/beacon.png",
    "bidi": "user \u202egnp.exe\u202c \u2066isolated\u2069 \u200bzero\u200dwidth\ufeff",
    "terminal": "\x1b]0;title\x07\x1b[2J\x9b31m\x00 null",
    "huge": "long " * 200_000,
    "surrogate": "half \ud83d of an emoji 👩‍👩‍👧 ❤️",
    "arabic": "هذا نص عربي ثم English ثم عربي",
}


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


Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Open a page's text; afterwards nothing may have been asked for, shown as a dialog, or thrown.

    `refused`: the browser will tell on the console what the page's policy refused.
    """
    contexts: list[Any] = []
    troubles: list[str] = []

    def start(
        text: str, *, fragment: str = "", init: str = "", wait: bool = True, refused: bool = False, **options: Any
    ) -> Any:
        file = tmp_path / f"page-{len(contexts)}.html"
        file.write_text(text, encoding="utf-8")
        defaults: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
        context = browser.new_context(**defaults | options)
        contexts.append(context)
        if init:
            context.add_init_script(init)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"thrown: {error}"))
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" and not refused else None)
        page.on("dialog", lambda d: (troubles.append(f"dialog: {d.message}"), d.dismiss()))
        page.on("request", lambda r: None if r.url.startswith("file:") else troubles.append(f"asked for {r.url}"))
        page.goto(f"{file.as_uri()}{fragment}")
        if wait:
            page.wait_for_selector(".row", timeout=60_000)
        return page

    yield start
    for context in contexts:
        context.close()
    assert troubles == []


# ---- runs -------------------------------------------------------------------------------------------


def words(seed: str, count: int) -> str:
    rng = random.Random(seed)
    pool = [
        a + b for a in ("ka", "lo", "mi", "ru", "ten", "sol", "ver", "dan") for b in ("ra", "net", "vos", "ling", "e")
    ]
    return " ".join(rng.choice(pool) for _ in range(count))


def measured(plan: Plan, salt: str, share: float) -> list[Record]:
    """Records with a reply of their own; `share` of the cases under a memory say what they should not."""
    found = []
    for r in make_records(plan):
        rng = random.Random(f"{salt}|{case_id(r)}")
        v = (
            rng.choice((0.25, 0.5, 1.0))
            if rng.random() < share and r.condition != "none" and r.kind == "probe"
            else 0.0
        )
        if (r.family, r.condition) == ("attitude_reversal", "vector"):
            v = SHADES[int(r.persona[1:]) % len(SHADES)]  # every colour of the heat map stands in the page
        reply = words(f"{salt}|{case_id(r)}", 60)
        said = " ".join(reply.split()[5:9])
        judgements = tuple(
            replace(j, v=None if j.v is None else v, target_uptake=v, used=("target",) if v else (),
                    evidence=said if v else "", rationale=f"because {salt}") for j in r.judgements
        )  # fmt: skip
        second = tuple(replace(j, judge="second/judge", v=None if j.v is None else 0.5) for j in judgements)
        found.append(replace(r, reply=reply, judgements=judgements + second, latency_s=rng.random()))
    return found


def beside(plan: Plan, now: list[Record], then: list[Record], folder: Path) -> tuple[Summary, dict[str, Any]]:
    file = folder / "gates.toml"
    file.write_text(FILE, encoding="utf-8")
    thresholds = load_thresholds(str(file))
    references = {"baseline": reference("baseline", "main", then)}
    verdicts = judge(now, plan, thresholds, mode="pr", references=references, today=TODAY)
    summary = summarise(
        now, plan, thresholds, estimates(now, plan), verdicts, mode="pr", screening_judge=True,
        contrasts=contrasts(now, plan, references), comparisons=comparisons(now, plan, references),
    )  # fmt: skip
    return summary, references


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(
        make_pack(5, 4), models=("openai/a", "openai/b"), conditions="vector,full-context", invitations=True
    )


@pytest.fixture(scope="module")
def now(plan: Plan) -> list[Record]:
    return measured(plan, "now", 0.3)


@pytest.fixture(scope="module")
def then(plan: Plan) -> list[Record]:
    return measured(plan, "then", 0.15)


@pytest.fixture(scope="module")
def page_text(plan: Plan, now: list[Record], then: list[Record], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with every section."""
    summary, references = beside(plan, now, then, tmp_path_factory.mktemp("gates"))
    return render_page(Material(summary, now, 1, "0.1.0", pack=plan.pack, references=references))


def small(records: list[Record], plan: Plan, **options: Any) -> str:
    thresholds = load_thresholds("demo")
    verdicts = judge(records, plan, thresholds, mode="pr", today=TODAY)
    summary = summarise(records, plan, thresholds, estimates(records, plan), verdicts, mode="pr")
    return render_page(Material(summary, records, 1, "0.1.0", pack=plan.pack, **options))


def count(page: Any) -> int:
    """The number of cases in the list, once the search is through."""
    for _ in range(1000):
        text = page.inner_text("#count")
        if "%" not in text:
            return int(text.partition(" of ")[0].replace(",", ""))
        page.wait_for_timeout(20)
    raise AssertionError("the search does not end")


def searched(page: Any, text: str) -> int:
    page.fill("#query", text)
    page.wait_for_timeout(300)
    return count(page)


# ---- looking for cases ------------------------------------------------------------------------------


def test_the_worst_case_stands_first_and_open(opened: Open, page_text: str, now: list[Record]) -> None:
    page = opened(page_text)
    first = worst(now, 1)[0]
    highest = {case_id(r) for r in now if r.judgements and r.judgements[0].v == first.judgements[0].v}
    assert page.inner_text("#detail h3") in highest
    shown = [float(x) for x in page.locator(".row .v").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    assert count(page) == len(now)


def test_filters_narrow_and_reset(opened: Open, page_text: str, now: list[Record]) -> None:
    page = opened(page_text)
    page.select_option("#f-condition", label="vector")
    assert count(page) == sum(r.condition == "vector" for r in now)
    page.select_option("#f-model", label="openai/b")
    page.select_option("#f-score", "used")
    wanted = [r for r in now if (r.condition, r.model) == ("vector", "openai/b") and not r.invited and r.judgements]
    assert count(page) == sum((r.judgements[0].v or 0) > 0 for r in wanted)
    page.select_option("#f-family", label="disengagement request")
    assert count(page) == sum((r.judgements[0].v or 0) > 0 and r.family == "disengagement_request" for r in wanted)
    page.click("#reset")
    page.wait_for_timeout(100)
    assert count(page) == len(now)


def test_search_reads_ids_probes_replies_and_rationales(
    opened: Open, page_text: str, now: list[Record], plan: Plan
) -> None:
    page = opened(page_text)
    one = next(r for r in now if r.judgements and r.kind == "probe")
    assert searched(page, " ".join(one.reply.split()[:14])) >= 1
    phrase = one.reply.upper()
    assert searched(page, phrase) == sum(set(phrase.lower().split()) <= set(r.reply.split()) for r in now)
    assert searched(page, "because now") == sum(bool(r.judgements) for r in now)
    assert searched(page, "fern for attitude_reversal") == sum(r.family == "attitude_reversal" for r in now)
    assert searched(page, case_id(one)) >= 1
    assert searched(page, "no such words") == 0
    assert searched(page, "") == len(now)


def test_orders(opened: Open, page_text: str, now: list[Record], then: list[Record]) -> None:
    page = opened(page_text)
    page.select_option("#sort", "worse")
    before = {r.identity: r.judgements[0].v for r in then if r.judgements}
    changes = [r.judgements[0].v - before[r.identity] for r in now
               if r.judgements and r.judgements[0].v is not None and before[r.identity] is not None]  # fmt: skip
    assert page.inner_text("#row-0 b") == f"+{max(changes):.2f}"
    page.select_option("#sort", "better")
    assert page.inner_text("#row-0 b") == f"−{-min(changes):.2f}"
    page.select_option("#f-change", "worse")
    assert count(page) == sum(c > 0 for c in changes)


def test_a_deep_link_opens_its_case_and_an_address_follows_the_choice(
    opened: Open, page_text: str, now: list[Record]
) -> None:
    wanted = next(r for r in now if r.invited)
    page = opened(page_text, fragment=f"#case={quote(case_id(wanted), safe='')}")
    page.wait_for_selector("#detail h3")
    assert page.inner_text("#detail h3") == case_id(wanted)
    assert page.evaluate("document.activeElement.id") == "detail"
    page.locator("#detail .chips a").first.click()
    page.wait_for_timeout(200)
    shown = page.inner_text("#detail h3")
    assert shown != case_id(wanted)
    assert page.evaluate("decodeURIComponent(location.hash)") == f"#case={shown}"
    page.go_back()
    page.wait_for_timeout(200)
    assert page.inner_text("#detail h3") == case_id(wanted)
    page.evaluate("location.hash = '#case=%E0%A4%A'")
    page.wait_for_timeout(100)
    assert "no such case" in page.inner_text("#detail")


def test_the_keyboard_is_enough(opened: Open, page_text: str) -> None:
    page = opened(page_text)
    page.focus("#list")
    for key in ("Home", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert page.get_attribute("#list", "aria-activedescendant") == "row-2"
    assert page.get_attribute("#row-2", "aria-selected") == "true"
    assert page.locator("[aria-selected=true]").count() == 1
    page.keyboard.press("End")
    page.wait_for_timeout(100)
    last = count(page) - 1
    assert page.get_attribute("#list", "aria-activedescendant") == f"row-{last}"
    assert page.locator(f"#row-{last}").is_visible()
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.evaluate("document.activeElement.id") == "detail"


# ---- one case ---------------------------------------------------------------------------------------


def test_a_case_shows_all_that_is_known_of_it(opened: Open, page_text: str, now: list[Record], plan: Plan) -> None:
    wanted = next(r for r in now if r.condition == "vector" and r.judgements and (r.judgements[0].v or 0) > 0)
    page = opened(page_text, fragment=f"#case={quote(case_id(wanted), safe='')}")
    page.wait_for_selector("#detail mark")
    text = page.inner_text("#detail")
    assert page.inner_text("#detail mark") == wanted.judgements[0].evidence
    assert next(c.text for c in plan.cases if c.id == case_id(wanted)) in text
    assert wanted.reply in text
    assert "keeps a fern" in text
    assert f"from {wanted.disclosure_id}-s · from the planted session" in text
    assert "Owes the bank a fortune" in text, "what `target` stands for"
    assert "because now" in text
    assert "second/judge" in text


def test_a_diff_stands_side_by_side(opened: Open, page_text: str, now: list[Record], then: list[Record]) -> None:
    wanted = next(
        r for r in now if r.condition == "vector" and r.judgements and (r.judgements[0].v or 0) > 0 and not r.invited
    )
    old = next(r for r in then if r.identity == wanted.identity)
    page = opened(page_text, fragment=f"#case={quote(case_id(wanted), safe='')}")
    page.wait_for_selector("#detail .two")
    left, right = page.locator("#detail .two .text").all_inner_texts()
    assert (left, right) == (old.reply, wanted.reply)
    assert page.locator("#detail .two .gone").count() > 0
    assert page.locator("#detail .two .new").count() > 0
    box = [page.locator("#detail .two > div").nth(n).bounding_box() for n in (0, 1)]
    assert box[0]["y"] == box[1]["y"]


def test_a_baseline_of_scores_says_that_it_has_no_texts(
    opened: Open, plan: Plan, now: list[Record], tmp_path: Path
) -> None:
    then = [replace(r, reply="", entries=(), judgements=tuple(replace(j, evidence="", rationale="")
                    for j in r.judgements)) for r in now]  # fmt: skip
    summary, references = beside(plan, now, then, tmp_path)
    page = opened(render_page(Material(summary, now, 0, "0", pack=plan.pack, references=references)))
    page.wait_for_selector("#detail h4")
    assert "The score is the same. The baseline was saved as scores: its replies are not at hand" in page.inner_text(
        "#detail"
    )


def test_a_redacted_page_shows_scores(opened: Open, plan: Plan, now: list[Record]) -> None:
    page = opened(small(now, plan, redacted="The pack is private."))
    assert "Texts are left out" in page.inner_text("#detail")
    assert count(page) == len(now)
    assert searched(page, "p01-d01") == sum("p01-d01" in case_id(r) for r in now)
    assert searched(page, "because") == 0


# ---- hostile texts ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(plan: Plan) -> tuple[str, dict[str, Record]]:
    """Every text of a case replaced by a hostile one; the page, and a record for each name."""
    plan = make_plan(make_pack(2, 3), conditions="vector")
    names = list(HOSTILE)
    by_name: dict[str, Record] = {}
    records = []
    for n, r in enumerate(make_records(plan)):
        name = names[n % len(names)]
        text = HOSTILE[name]
        judgements = tuple(replace(j, evidence=text[:300], rationale=text[:300], v=1.0) for j in r.judgements)
        found = replace(r, reply=text, error=text[:500], notes=(text[:500],), judgements=judgements,
                        entries=(Entry(text[:60], text[:5000], (text[:60],), (), text[:60]),))  # fmt: skip
        records.append(found)
        if r.kind == "probe":
            by_name.setdefault(name, found)
    return small(records, plan), by_name


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_hostile_reply_is_only_text(opened: Open, hostile: tuple[str, dict[str, Record]], name: str) -> None:
    text, by_name = hostile
    page = opened(text, fragment=f"#case={quote(case_id(by_name[name]), safe='')}")
    page.wait_for_selector("#detail h4")
    page.wait_for_timeout(200)
    assert page.evaluate("window.owned") is None
    assert page.locator("#detail :is(img, script, svg, iframe, style, textarea)").count() == 0
    assert page.locator("script:not([type])").count() == 1
    shown = page.inner_text("#detail")
    if name in ("closing tag", "onerror", "template", "link", "arabic"):
        assert HOSTILE[name] in shown, "it can be read as it was said"
    if name == "bidi":
        raw = page.evaluate("document.getElementById('detail').textContent")
        assert not set("\u202e\u202c\u2066\u2069\u200b\u200d\ufeff") & set(raw)
        assert {"U+202E", "U+200B", "U+FEFF"} <= set(page.locator("#detail .esc").all_inner_texts())
    if name == "terminal":
        assert {"U+001B", "U+0007", "U+009B"} <= set(page.locator("#detail .esc").all_inner_texts())
    if name == "surrogate":
        assert "👩‍👩‍👧 ❤️" in shown, "an emoji's joiners are no disguise"
        assert "U+D83D" in shown
    if name == "huge":
        assert "960,000 more characters are in the local records" in shown
        page.locator("#detail button", has_text="Show all 40,000 characters").first.click()
        assert len(page.inner_text("#detail")) > 40_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_even_a_script_put_into_the_page_does_not_run(opened: Open, page_text: str) -> None:
    page = opened(page_text, refused=True)
    told = page.evaluate(
        """() => { const tell = [];
        try { document.body.innerHTML = '<img src=x onerror="window.owned = 1">'; } catch (e) { tell.push(e.name); }
        try { const s = document.createElement('script'); s.text = 'window.owned = 2'; document.body.append(s); }
        catch (e) { tell.push(e.name); }
        return tell; }"""
    )
    page.wait_for_timeout(200)
    assert told == ["TypeError", "TypeError"], "trusted types refuse both"
    assert page.evaluate("window.owned") is None


# ---- size and speed ---------------------------------------------------------------------------------


@pytest.mark.parametrize("models, cases, most", [(1, 12_000, 5_000_000), (4, 48_000, 20_000_000)])
def test_many_cases_open_at_once_and_scroll(opened: Open, models: int, cases: int, most: int) -> None:
    plan = make_plan(make_pack(10, 60, positive_controls=0), models=[f"openai/{n}" for n in range(models)],
                     conditions="vector,full-context,oracle,neutral")  # fmt: skip
    records = [
        replace(r, reply=words(case_id(r), 150), judgements=(replace(r.judgements[0], v=0.5 if n % 9 == 0 else 0.0),))
        for n, r in enumerate(make_records(plan))
    ]
    assert len(records) == cases
    text = small(records, plan)
    assert len(text.encode()) < most
    ready = []
    for _ in range(3):
        page = opened(text)
        page.wait_for_selector("html[data-ready]")
        ready.append(int(page.get_attribute("html", "data-ready")))
    assert count(page) == cases
    if models == 1:
        assert min(ready) < FIRST_ROW_MS, ready
    assert page.locator(".row").count() < 60, "only what can be seen is drawn"
    frames = page.evaluate(
        """async () => { const list = document.getElementById('list'); const times = []; let last = performance.now();
        for (let n = 0; n < 60; n++) { list.scrollTop += 1500; await new Promise(requestAnimationFrame);
          const now = performance.now(); times.push(now - last); last = now; }
        times.sort((a, b) => a - b); return times[30]; }"""
    )
    assert frames < 50, f"{frames} ms a frame"
    page.focus("#list")
    page.keyboard.press("End")
    page.wait_for_timeout(300)
    assert page.locator(f"#row-{cases - 1}").is_visible()
    assert page.locator("#detail h4").first.is_visible(), "the last case opens too"
    one = records[len(records) // 2]
    assert searched(page, case_id(one)) >= 1


# ---- every reader -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_accessibility(opened: Open, page_text: str, scheme: str, width: int) -> None:
    """axe-core, with every fold open: WCAG 2.2 AA and its best practices, no serious or critical finding."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    page = opened(page_text, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    if width < 900:
        page.locator(".row").first.click()
    page.wait_for_selector("#detail h4")
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (v["id"], [n["html"][:200] for n in v["nodes"]][:3]) for v in found if v["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert [v["id"] for v in found] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the screen"


def test_a_browser_that_cannot_unpack_says_so(opened: Open, page_text: str) -> None:
    page = opened(page_text, init="delete window.DecompressionStream", wait=False)
    page.wait_for_selector("#trouble:not([hidden])")
    assert "needs DecompressionStream: Chrome or Edge 80, Firefox 113, Safari 16.4" in page.inner_text("#trouble")
    assert page.locator("#app").is_hidden()
    assert page.locator(".gate").first.is_visible()


def test_without_scripts_everything_but_the_cases_is_there(opened: Open, page_text: str) -> None:
    page = opened(page_text, java_script_enabled=False, wait=False)
    assert page.locator("noscript").is_visible()
    assert page.locator(".gate").count() > 0
    assert page.locator("#worst").is_visible()


def test_print_leaves_the_list_out_and_opens_the_folds(opened: Open, page_text: str) -> None:
    page = opened(page_text, color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    colours = page.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    assert colours == ["rgb(27, 31, 36)", "rgb(255, 255, 255)"], "dark on white, also for a reader of dark pages"
    assert page.locator("section.app").is_hidden()
    assert page.locator("#worst").is_visible()
    assert page.locator("details:not([open])").count() == 0
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_judgement_scores_are_kept_to_a_thousandth(opened: Open, plan: Plan) -> None:
    given = Judgement("j", "r", 0.123456, 0.9996, 0.0, 1.0)
    scored = [r for r in make_records(plan) if r.judgements and not r.invited]
    records = [replace(r, judgements=(given,)) for r in scored]
    page = opened(small(records, plan))
    assert page.locator(".row .v").first.inner_text() == "0.12"
