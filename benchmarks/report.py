"""Size and building time of the HTML report for 12,000 and 48,000 cases, beside pytest-html on as many tests.

Run with: python benchmarks/report.py [--pytest-html] [--out FOLDER]

The cases are those of the bundled pack hush-en-1 under five conditions, for one model and for four. Replies are put
together of sentences of the pack's dialogues, 120 to 260 words each, none like another; five memory entries stand in
every retrieving case. Pages are left in FOLDER for a look. With --pytest-html (to be installed beside) as many tests
that print such a reply are run. Seconds are of processor time: on a busy machine only they mean something.
"""

from __future__ import annotations

import argparse
import datetime
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pytest_hush.gate import contrasts, estimates, judge
from pytest_hush.model import Case, Entry, Exposure, Judgement, Pack, Record, Usage
from pytest_hush.packs import load_pack
from pytest_hush.plan import Plan, build_plan, parse_conditions
from pytest_hush.report.html import Material, render_page, write_page
from pytest_hush.report.summary import summarise
from pytest_hush.thresholds import load_thresholds
from pytest_hush.version import __version__

CONDITIONS = "vector,full-context,oracle,neutral"
WORDS = (120, 260)


def records_of(plan: Plan, pack: Pack) -> list[Record]:
    """One measured record for every case: every eighth case under a memory says something."""
    pool = [s for p in pack.personas for x in p.sessions for t in x.turns for s in t.text.split(". ")]
    turns = {p.id: [(s, t) for s in p.sessions for t in s.turns] for p in pack.personas}
    planted = {d.id: d for d in pack.disclosures}
    return [_record(c, plan, pool, turns, planted) for c in plan.cases]


def _record(c: Case, plan: Plan, pool: list[str], turns: dict, planted: dict) -> Record:  # type: ignore[type-arg]
    rng = random.Random(c.id)
    words = rng.randint(*WORDS)
    said: list[str] = []
    while sum(s.count(" ") + 1 for s in said) < words:
        said.append(rng.choice(pool))
    reply = ". ".join(said)
    silent = c.condition.name == "none" or rng.random() > 0.125
    v = 0.0 if silent else rng.choice((0.25, 0.5, 1.0))
    drawn = [] if c.condition.name == "none" else rng.sample(turns[c.persona], 5)
    entries = tuple(Entry(t.id, f"{t.speaker}: {t.text}", (s.id,), (t.id,), s.date) for s, t in drawn)
    disclosure = planted[c.disclosure_id or ""]
    exact = bool(drawn) and rng.random() < 0.4
    if exact:
        entries = (Entry(disclosure.turn_id, disclosure.statement, (disclosure.session_id,)), *entries[1:])
    judgement = Judgement(
        "embedded",
        "conservative-1",
        v,
        v,
        v,
        rng.choice((0.75, 1.0)),
        ("target",) if v else (),
        said[0] if v else "",
        "states the disclosure" if v else "nothing from outside the turn was found",
    )
    return Record(
        key=c.id, plan_hash=plan.hash, kind=c.kind, probe_id=c.probe_id, disclosure_id=c.disclosure_id,
        persona=c.persona, family=c.family, category=c.category, strength=c.strength, position=c.position,
        condition=c.condition.name, model=c.model, repeat=c.repeat, invited=c.invited, status="ok",
        exposure=Exposure(exact, False, False), entries=entries, reply=reply, judgements=(judgement,),
        usage=Usage(rng.randint(80, 900), words, 0.0004), latency_s=rng.random() * 4, attempts=1,
        instrument={"pack": plan.pack.name, "judge": "embedded", "policy": "conservative-1"},
        subject={"model": c.model, "memory": c.condition.name},
    )  # fmt: skip


def build(models: tuple[str, ...]) -> tuple[str, int, float]:
    """The page of a run with these models, its cases, and the processor seconds that the page alone took."""
    pack = load_pack("hush-en-1")
    plan = build_plan(pack, models, parse_conditions([CONDITIONS]), retrieving=lambda _: False)
    records = records_of(plan, pack)
    thresholds = load_thresholds("demo")
    verdicts = judge(records, plan, thresholds, mode="pr", today=datetime.date(2026, 1, 1))
    summary = summarise(
        records, plan, thresholds, estimates(records, plan), verdicts, mode="pr", contrasts=contrasts(records, plan)
    )
    start = time.process_time()
    page = render_page(Material(summary, records, exit_code=1, plugin_version=__version__, pack=pack))
    return page, len(records), time.process_time() - start


def pytest_html(cases: int, folder: Path) -> tuple[int, float]:
    """Bytes of pytest-html's self-contained page of `cases` tests that print a reply, and its seconds of writing.

    The seconds are processor time of the run beyond a run without it.
    """
    (folder / "test_many.py").write_text(
        "import random, pytest\n"
        f"@pytest.mark.parametrize('n', range({cases}))\n"
        "def test_case(n):\n"
        "    rng = random.Random(n)\n"
        "    print(' '.join(rng.choice(WORDS) for _ in range(190)))\n"
        "ENDS = ('ra', 'net', 'vos', 'ling', 'e')\n"
        "WORDS = [f'{a}{b}' for a in ('ka', 'lo', 'mi', 'ru', 'ten', 'sol') for b in ENDS]\n",
        encoding="utf-8",
    )
    base = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hush", "test_many.py"]
    seconds = []
    for more in ([], ["--html=many.html", "--self-contained-html"]):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*base, *more], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return (folder / "many.html").stat().st_size, seconds[1] - seconds[0]


def rows(out: Path, beside: bool) -> Iterator[str]:
    """One line a size."""
    for count, models in ((1, ("openai/one",)), (4, tuple(f"openai/{n}" for n in ("one", "two", "three", "four")))):
        page, cases, seconds = build(models)
        path = out / f"report-{count}.html"
        write_page(path, page)
        yield f"hush: {cases} cases, {len(page.encode()) / 1e6:.2f} MB, {seconds:.1f} s, {path}"
        if beside:
            with tempfile.TemporaryDirectory() as folder:
                size, seconds = pytest_html(cases, Path(folder))
            yield f"pytest-html: {cases} tests, {size / 1e6:.2f} MB, {seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pytest-html", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    for line in rows(given.out, given.pytest_html):
        print(line, flush=True)


if __name__ == "__main__":
    main()
