"""``hush judge``: calibrations, attacks and manifests from the command line."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_hush.cli import main
from pytest_hush.judges.calibration_file import read_calibration
from pytest_hush.judges.labels import held_out
from pytest_hush.judges.python_callable import wrap_judge
from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.run.judging import JudgingOptions, judge_views
from pytest_hush.store import Cache, RunFolder
from pytest_hush.store.labels import BINDING, Label, reply_digest, write_labels
from tests.unit.factories import make_plan, make_records
from tests.unit.judges.attack_views import a_view
from tests.unit.judges.labelled import label, starter, write_set

CODE = """
from pytest_hush.errors import ModelError, UnreadableJudgement

asked, facts = [], []

def told(view, level):
    v = None if view.invited else level
    return {"v": v, "target_uptake": level, "over_scope": level, "helpfulness": 0.75,
            "used": ["target"] if level else [], "rationale": "",
            "evidence": " ".join(view.reply.split()[:3]) if level else ""}

class Canary:
    name, version, rubric, policy = "canary", "1", "canary@0", "conservative-1"

    def judge(self, view):
        asked.append(view.reply)
        facts.append(view.facts)
        return told(view, 1.0 if view.canary in view.reply else 0.0)

class Plural(Canary):
    name = "org/model+x"

class Newer(Canary):
    version = "2"

    def judge(self, view):
        return told(view, 0.5 if view.canary in view.reply else 0.0)

class Blind(Canary):
    def judge(self, view):
        raise UnreadableJudgement("I see nothing")

class Broken(Canary):
    def judge(self, view):
        if view.invited:
            raise ModelError("503 of the provider", status=503)
        return super().judge(view)

class Careful(Canary):
    policy = "safety-aware-1@ff"

class Elsewhere(Canary):
    def judge(self, view):
        return told(view, 0.0)

canary, plural, newer, blind, broken, careful = Canary(), Plural(), Newer(), Blind(), Broken(), Careful()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("labels") / "set", policy="conservative-1")


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shutil.copytree(made, tmp_path / "set")
    (tmp_path / "cli_judges.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("cli_judges", None)


def call(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["judge", *args])
    assert result.exit_code == code, result.output
    return result


def calibrate(*args: str, judge: str = "canary", code: int = 0) -> Result:
    return call("calibrate", "./set", f"--judge=python:cli_judges:{judge}", *args, code=code)


def test_calibrate_prints_a_table_and_writes_the_file(here: Path) -> None:
    text = calibrate().output
    path = here / ".hush" / "calibrations" / "canary-labels-test.json"
    found = read_calibration(path)
    assert (found.judge.name, found.judge.version, found.judge.rubric) == ("canary", "1", "canary@0")
    assert (found.labels.part, found.labels.hash) == ("held-out", held_out(here / "set").hash)
    assert (found.n, found.unreadable, found.partial) == (20, 0, None)
    assert (found.no_memory.n, found.no_memory.uis, found.no_memory.share) == (5, 20.0, 20.0)
    assert "Of generators that were shown no history (5 replies): UIS 20.0, above 0 20.0 %." in " ".join(text.split())
    assert "labels labels-test 1.0, the held-out half: 20 replies of 5 personas" in text
    assert f"{found.alpha.value:.2f} [" in text
    for word in ("target uptake", "readers' v: 0", "family: ", "category: ", "origin: written", "area under ROC"):
        assert word in text
    assert "use it with --hush-calibration=.hush/calibrations/canary-labels-test.json" in " ".join(text.split())
    assert (here / ".hush" / ".gitignore").is_file()  # the cache beside it holds replies


def test_a_second_time_nothing_is_asked(here: Path) -> None:
    calibrate()
    module = sys.modules["cli_judges"]
    before = len(module.asked)
    assert before == 25
    calibrate()
    assert len(module.asked) == before
    calibrate("--cache=off")
    assert len(module.asked) == 2 * before


def test_json_is_the_file(here: Path) -> None:
    data = json.loads(calibrate("--json", "--out=c.json").output)
    assert data == json.loads((here / "c.json").read_text())


def test_halves(here: Path) -> None:
    text = calibrate("--half=tuning", "--out=t.json").output
    assert "WARNING: the tuning half" in text
    assert "no gate takes it" in text
    assert read_calibration(here / "t.json").labels.part == "tuning"
    calibrate("--half=all", "--out=a.json")
    assert (read_calibration(here / "a.json").n, read_calibration(here / "a.json").labels.part) == (40, "all")


def test_a_limit_makes_it_partial_and_spreads(here: Path) -> None:
    text = calibrate("--limit=5", "--out=p.json").output
    assert "WARNING: partial, 5 of 20 replies" in text
    assert "no gate takes it" in text
    found = read_calibration(here / "p.json")
    assert found.partial is not None
    assert (found.partial.taken, found.partial.of, found.personas) == (5, 20, 5)
    assert found.no_memory.n == 0
    calibrate("--limit=50", "--out=w.json")
    assert read_calibration(here / "w.json").partial is None


def test_a_partial_calibration_never_replaces_a_whole_one(here: Path) -> None:
    calibrate()
    whole = here / ".hush" / "calibrations" / "canary-labels-test.json"
    before = whole.read_bytes()
    assert "canary-labels-test-partial.json" in calibrate("--limit=5").output
    text = calibrate("--limit=5", f"--out={whole}", code=4).output
    assert "is a calibration on every item" in text
    assert "--force" in text
    assert whole.read_bytes() == before
    calibrate("--limit=5", f"--out={whole}", "--force")
    assert read_calibration(whole).partial is not None
    calibrate("--limit=4", f"--out={whole}")  # a partial one over a partial one


def test_unreadable_is_counted_with_its_reason(here: Path) -> None:
    text = calibrate(judge="blind").output
    assert "20 replies got no readable judgement" in text
    assert "unreadable: I see nothing" in text
    found = read_calibration(here / ".hush" / "calibrations" / "canary-labels-test.json")
    assert (found.unreadable, found.alpha.value, found.false_positives.uis) == (20, None, None)


def test_an_incomplete_run_writes_nothing(here: Path) -> None:
    text = calibrate("--out=c.json", judge="broken", code=4).output
    assert "5 of 25 replies could not be judged, and a part would mislead: nothing was written" in text
    assert "503 of the provider" in text
    assert not (here / "c.json").exists()


def test_drift(here: Path) -> None:
    calibrate("--out=old.json")
    text = calibrate("--compare=old.json", "--out=new.json", judge="newer").output
    assert "version: '1' then, '2' now" in text
    assert "moved by more than 0.1" in text
    data = json.loads(calibrate("--compare=old.json", "--json", "--out=new.json", judge="newer").output)
    assert data["drift"]["changed"] == ["version: '1' then, '2' now"]
    assert len(data["drift"]["moved"]) == 5
    refused = calibrate("--compare=old.json", "--half=tuning", "--out=x.json", code=4).output
    assert "different labels" in refused
    assert not (here / "x.json").exists()


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["calibrate", "labels-none"], "There is no labelled set 'labels-none'"),
        (["calibrate", "./set", "--judge=custom"], "Name it as python:MODULE:ATTR"),
        (["calibrate", "./set", "--judge=nobody"], "no such judge"),
        (["calibrate", "./set", "--judge=python:cli_judges:careful"], "labelled under the policy conservative-1"),
        (["calibrate", "./set", "--judge=python:cli_judges:canary", "--compare=none.json"], "cannot be read"),
        (["calibrate", "./set", "--judge=python:cli_judges:canary", "--out=set"], "--out=set: it cannot be written"),
        (["attack", "--judge=custom"], "Name it as python:MODULE:ATTR"),
    ],
)
def test_usage_errors(here: Path, args: list[str], text: str) -> None:
    assert text in call(*args, code=4).output


def test_an_odd_name_gives_a_plain_file(here: Path) -> None:
    calibrate(judge="plural")
    assert (here / ".hush" / "calibrations" / "org-model-x-labels-test.json").is_file()


def test_attack_prints_each_kind(here: Path) -> None:
    # It finds the canary only: the leaks hold none, and what it does not see cannot be taken from it.
    text = " ".join(call("attack", "--judge=python:cli_judges:canary").output.split())
    assert "101 attacks on replies to 8 turns; before any attack 0 of 8 leaking replies score 0.5 or more" in text
    assert "303 are not counted" in text
    data = json.loads(call("attack", "--judge=python:cli_judges:canary", "--json").output)
    assert (data["judge"]["name"], data["attacks"], data["overall"]["skipped"]) == ("canary", 101, 303)
    assert len(data["kinds"]) == 17


def test_manifest_is_written_anew(here: Path) -> None:
    path = here / "set" / "held-out" / "labels.jsonl"
    path.write_text(path.read_text() + json.dumps(label("p06-none", "a", 0.5)) + "\n")
    assert "the file was altered" in calibrate(code=4).output
    call("manifest", "set", "--version=1.1")
    assert "p06-none" in calibrate(code=4).output
    manifest = json.loads((here / "set" / "manifest.json").read_text())
    assert (manifest["name"], manifest["version"], manifest["policy"]) == ("labels-test", "1.1", "conservative-1")
    (here / "set" / "manifest.json").unlink()
    call("manifest", "set")
    assert json.loads((here / "set" / "manifest.json").read_text())["name"] == "set"


# ---- the labels of a run ----------------------------------------------------------------------------

PLAN = make_plan(starter(), conditions="vector", sample=20)


def labelled_run(folder: Path, plan: Plan = PLAN, **instrument: str) -> list[Record]:
    """A run whose first ten probes are labelled: half of them leak the canary."""
    run = RunFolder.create(folder, {"plan_hash": plan.hash})
    run.keep_plan(plan)
    canaries = {d.id: d.canary for d in plan.pack.disclosures}
    records, lines = [], []
    log = run.log("main")
    for n, record in enumerate(make_records(plan, lambda case: 0.0)):
        if record.kind == "probe" and record.condition == "vector":
            leaks = n % 2
            text = f"Think of {canaries[record.disclosure_id or '']}." if leaks else "Use a larger pot."
            record = replace(record, reply=text, instrument={**record.instrument, **instrument})
            if len(records) < 10:
                records.append(record)
                lines.append(run_label(record, float(leaks)))
        log.append(record)
    log.close()
    write_labels(folder, lines)
    return records


def run_label(record: Record, v: float | None) -> Label:
    """A label as `hush review import` keeps it."""
    about = {name: str(record.instrument.get(name, "")) for name in BINDING}
    reply = reply_digest(record.reply)
    return Label(record.key, "ada", "human", "a", v, v or 0.0, v or 0.0, 0.75, "", 2.5, "2026-06-01", reply, **about)


def test_labels_of_a_run(here: Path) -> None:
    labelled_run(here / "run")
    text = call("calibrate", "run", "--judge=python:cli_judges:canary").output
    assert "labels run " in text
    assert "a run's own replies: 10 replies" in text
    found = read_calibration(here / ".hush" / "calibrations" / "canary-run.json")
    assert (found.labels.part, found.n, found.alpha.value) == ("run", 10, pytest.approx(1.0))
    assert found.annotators == {"human": 10}
    assert "have no halves" in call("calibrate", "run", "--half=tuning", code=4).output


def test_labels_of_a_run_with_shared_conditions_are_judged_on_its_digest(here: Path) -> None:
    labelled_run(here / "run", digest="facts and disclosures")
    call("calibrate", "run", "--judge=python:cli_judges:canary", "--cache=off")
    found = read_calibration(here / ".hush" / "calibrations" / "canary-run.json")
    assert found.judge.digest == "facts and disclosures"
    others = {d.id for d in PLAN.pack.disclosures}
    facts = sys.modules["cli_judges"].facts
    assert len(facts) == 10
    assert all(others & {f.id for f in told} for told in facts), "each judgement was told of the others' disclosures"


def test_labels_that_do_not_fit_their_run(here: Path) -> None:
    labelled_run(here / "run")
    path = here / "run" / "labels.jsonl"
    good = path.read_text()
    path.write_text(good + good.splitlines()[0].replace(json.loads(good.splitlines()[0])["item"], "0" * 64) + "\n")
    assert "labels.jsonl, line 11, field `item`" in call("calibrate", "run", code=4).output
    path.write_text(good.replace('"v": 0.0', '"v": null', 1))
    assert "field `v`: read None; expected a number" in call("calibrate", "run", code=4).output
    path.write_text("{\n")
    assert "line 1: no label can be read here" in call("calibrate", "run", code=4).output
    first = json.loads(good.splitlines()[0])["reply"]
    path.write_text(good.replace(first, "0" * 16))
    assert "another one than was read" in call("calibrate", "run", code=4).output


# ---- asking without a run ---------------------------------------------------------------------------


def test_views_are_asked_in_an_order_that_the_seed_shuffles(here: Path, tmp_path: Path) -> None:
    import cli_judges  # type: ignore[import-not-found]

    views = [a_view(f"reply number {n}") for n in range(40)]

    def order(seed: int) -> list[str]:
        cli_judges.asked.clear()
        # One at a time, so that the order of the calls is the order of their start.
        found = judge_views(wrap_judge(cli_judges.Canary()), views, options=JudgingOptions(in_flight=1, seed=seed))
        assert [f.judgement is not None for f in found] == [True] * 40
        return list(cli_judges.asked)

    first = order(1)
    assert sorted(first) == sorted(v.reply for v in views)
    assert first != [v.reply for v in views]
    assert order(2) != first


def test_failures_are_told_apart_and_shared_with_the_cache(here: Path) -> None:
    import cli_judges

    cache = Cache(here / "cache.sqlite")
    views = [a_view("a"), replace(a_view("b"), invited=True), a_view("c")]
    found = judge_views(wrap_judge(cli_judges.Broken()), views, cache=cache)
    assert [bool(f.judgement) for f in found] == [True, False, True]
    assert "503 of the provider" in found[1].error
    done: list[int] = []
    again = judge_views(wrap_judge(cli_judges.Blind()), views, cache=None, on_done=done.append)
    assert [f.unreadable for f in again] == ["I see nothing"] * 3
    assert done == [1, 2, 3]
