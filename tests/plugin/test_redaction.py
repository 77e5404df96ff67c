"""No text of a case in any artefact but the local records; no key anywhere."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_hush.bundled import bundled
from pytest_hush.packs import load_pack, write_manifest
from tests.plugin.conftest import Run, read_lines
from tests.unit.report.pages import Page, unpack

PLAN = ("--hush-memory=oracle,neutral", "--hush-sample=40")
KEY = "sk-canary-41c9e07bd2aa"
SAID = "Zanzibarquotation"
TALKATIVE = f"""
import os, zlib

def reply(messages):
    text = "\\n".join(m["content"] for m in messages)
    number = zlib.crc32(text.encode()) % 12
    if number == 0:
        raise RuntimeError(f"with Bearer {{os.environ['OPENAI_API_KEY']}} refused: {{text}}")
    return f"{SAID} {{text}}"
"""
JUDGE = f"""
from pytest_hush import Judgement, JudgeView

class Quoting:
    name, version, rubric, policy = "quoting", "1", "quoting-1@0", "conservative-1"
    languages = frozenset({{"en"}})

    def judge(self, view):
        leaked = float(view.canary in view.reply)
        evidence = view.canary if leaked else ""
        return Judgement("quoting", "quoting-1@0", leaked, leaked, leaked, 1.0, ("target",) if leaked else (), evidence,
                         f"{SAID} because of {{view.disclosure}}")

judge = Quoting()
"""
OWN = """
import pytest

def test_mine(hush_record, record_property, capsys):
    told = hush_record.reply + hush_record.error
    record_property("reply", told)
    print("printed:", told)
    if hush_record.persona == "p01":
        pytest.xfail(told)
    if hush_record.persona == "p02":
        pytest.skip(told)
    assert told == hush_record.entries
"""


@pytest.fixture
def leaky(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose model, judge and tests repeat whatever they see, in a job of GitHub Actions with a key."""
    project.makepyfile(talkative=TALKATIVE, quoting=JUDGE)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "summary.md"))
    return project.path


def forbidden() -> Iterator[str]:
    """What the starter pack tells of, and what model and judge add."""
    pack = load_pack("starter")
    for d in pack.disclosures:
        yield from (d.statement, d.canary, *(t.text for t in d.turns))
    yield from (p.text for p in pack.probes)
    yield from (c.text for c in pack.controls)
    yield SAID


def artefacts(folder: Path, output: str) -> dict[str, str]:
    """Every file that a run and the commands after it leave to be passed on, unpacked, and what they printed."""
    found = {"output": output}
    for path in folder.rglob("*"):
        kept = path.name.startswith(("records-", "cache.sqlite", "embeddings.sqlite")) or path.suffix in (".py", ".pyc")
        if path.is_file() and not kept and "pack" not in path.relative_to(folder).parts:
            found[str(path.relative_to(folder))] = _text(path)
    return found


def _text(path: Path) -> str:
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".html":
        text += "".join(json.dumps(unpack(blob), ensure_ascii=False) for blob in Page(text).blobs.values())
    return text


ALONE = ("-p", "no:xdist")
TELLING = ("-rA", "-vv", "--showlocals", "-o", "junit_logging=all", "-o", "junit_log_passing_tests=true")


def everything(
    project: pytest.Pytester, *options: str, redact: tuple[str, ...] = (), workers: tuple[str, ...] = ALONE
) -> str:
    """A run with every way of telling more, and the commands on its folder; all that was printed."""
    done = project.runpytest_subprocess(
        "--hush-model=python:talkative:reply",
        "--hush-judge=python:quoting:judge",
        "--hush-out=out",
        "--hush-report=run.html",
        "--junitxml=junit.xml",
        *(*PLAN, *TELLING, *options, *redact, *workers),
    )
    printed = done.stdout.str() + done.stderr.str()
    again = ("--redact",) if redact else ()
    for command in (
        ["report", "out", "--thresholds=demo", "--out=again.html", "--markdown=again.md", *again],
        *([] if redact else [["gate", "out", "--thresholds=demo", "--json=again.json"]]),
    ):
        told = project.run(sys.executable, "-c", "from pytest_hush.cli import main; main()", *command)
        assert told.ret in (0, 1), told.stderr.str()
        printed += told.stdout.str() + told.stderr.str()
    return printed


def private_pack(folder: Path) -> None:
    shutil.copytree(bundled("probes", "starter"), folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps(manifest | {"private": True}), encoding="utf-8")
    write_manifest(folder)


@pytest.mark.parametrize(
    "how, own, workers",
    [
        ("by option", False, ("-p", "no:xdist")),
        ("by option", True, ("-p", "no:xdist")),
        pytest.param("private pack", True, ("-n2",), marks=pytest.mark.real),
    ],
    ids=["option, built-in suite", "option, own tests", "private pack, own tests, two workers"],
)
def test_texts_stay_in_the_local_records(
    project: pytest.Pytester, leaky: Path, how: str, own: bool, workers: tuple[str, ...]
) -> None:
    if own:
        project.makepyfile(test_mine=OWN)
    options: tuple[str, ...] = ()
    if how == "private pack":
        private_pack(leaky / "pack")
        options = ("--hush-pack=pack",)
    redact = ("--hush-redact",) if how == "by option" else ()
    printed = everything(project, *options, redact=redact, workers=workers)
    found = artefacts(leaky, printed)
    assert {"output", "junit.xml", "run.html", "again.html", "again.md", "summary.md", "out/result.json",
            "out/manifest.json", "out/plan.json"} <= set(found)  # fmt: skip
    texts = list(forbidden())
    for name, text in found.items():
        leaks = [t for t in texts if t in text or t.replace("'", "&#39;") in text]
        assert not leaks, f"{name} holds {leaks[:3]}"
    records = json.dumps(read_lines(leaky / "out"), ensure_ascii=False)
    assert sum(t in records for t in texts) > 20, "the local records hold them, so they could have leaked"
    assert "an error whose text is kept in the local records" in found["output"]
    assert "texts of" in found["run.html"]


def test_without_redaction_texts_are_there_to_be_read(project: pytest.Pytester, leaky: Path) -> None:
    printed = everything(project)
    found = artefacts(leaky, printed)
    canaries = [t for t in forbidden() if t != SAID]
    assert sum(t in found["run.html"] for t in canaries) > 20
    for name in ("out/result.json", "out/manifest.json", "out/plan.json"):
        assert not [t for t in canaries if t in found[name]], f"{name} never holds a text"


def test_a_key_is_nowhere(project: pytest.Pytester, leaky: Path) -> None:
    printed = everything(project)
    assert KEY not in printed
    assert "Bearer <secret>" in printed, "the error was shown, without the key"
    for path in leaky.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
            assert KEY not in _text(path), path


def test_a_run_that_stops_says_the_kind_of_error(hush: Run, project: pytest.Pytester, leaky: Path) -> None:
    project.makepyfile(dead=f"def reply(messages):\n    raise RuntimeError('refused: {SAID}')\n")
    options = ("--hush-redact", "--hush-report=run.html", "--junitxml=junit.xml")
    done = hush("--hush-model=python:dead:reply", *PLAN, *options, judge="python:quoting:judge")
    printed = done.stdout.str() + done.stderr.str()
    told = "20 cases in a row failed alike: RuntimeError at dead.py:2 was raised"
    for name, text in artefacts(leaky, printed).items():
        assert not [t for t in forbidden() if t in text], name
    assert told in printed


BROKEN = f"""
import logging, os, threading, warnings
from pytest_hush import Judgement

SAID = "{SAID}"

def say(where):
    print(SAID, "printed by", where, flush=True)
    logging.getLogger(where).error("%s logged", SAID)
    warnings.warn(SAID + " warned")
    thread = threading.Thread(target=lambda: 1 / int(SAID))
    thread.start()
    thread.join()

def reply(messages):
    say("model")
    if len(messages[-1]["content"]) % 3 == 0:
        raise ValueError("cannot parse: " + SAID)
    return "a reply"

class Store:
    name, version = "custom", "1"
    def context(self, history, question):
        say("memory")
        if len(question) % 3 == 1:
            raise KeyError(SAID)
        return ["fact of " + SAID]

def memory(history, question):
    return Store().context(history, question)

class Judging:
    name, version, rubric, policy = "broken", "1", "broken-1@0", "conservative-1"
    languages = frozenset({{"en"}})

    def judge(self, view):
        say("judge")
        raise LookupError("the reply was " + SAID)

judge = Judging()
"""
BROKEN_HOOKS = f"""
import broken

def pytest_hush_record(record):
    broken.say("record hook")
    raise RuntimeError("{SAID} " + record.reply)

def pytest_hush_verdicts(verdicts, records):
    broken.say("verdict hook")
    if "FAIL" in broken.os.environ:
        raise RuntimeError("{SAID}")
"""
UNRELATED = """
import time

def test_that_asks_for_no_case():
    time.sleep(1)
    assert False, "the reason of my own"
"""


def line_of(text: str, words: str) -> int:
    """The line of `words` in the file that pytester makes of `text`."""
    return next(n for n, line in enumerate(text.strip().splitlines(), start=1) if words in line)


@pytest.mark.parametrize("ends", ["as it should", "in a hook"])
def test_nothing_that_your_code_says_or_raises_leaves_the_records(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    if ends == "in a hook":
        monkeypatch.setenv("FAIL", "1")
    project.makepyfile(broken=BROKEN, test_unrelated=UNRELATED)
    project.makeconftest(BROKEN_HOOKS)
    options = ("--hush-redact", "--hush-sample=40", "--hush-report=run.html", "--junitxml=junit.xml", *TELLING, *ALONE)
    done = project.runpytest_subprocess(
        "--hush-model=python:broken:reply",
        "--hush-memory=python:broken:memory",
        "--hush-judge=python:broken:judge",
        "--hush-out=out",
        "hush",
        "test_unrelated.py",
        *options,
    )
    printed = done.stdout.str() + done.stderr.str()
    found = artefacts(project.path, printed)
    assert {"output", "junit.xml", "run.html", "out/result.json"} <= set(found)
    assert [name for name, text in found.items() if SAID in text] == []
    records = read_lines(project.path / "out")
    assert SAID in json.dumps(records), "the local records keep it"
    assert "the reason of my own" in found["junit.xml"], "a test that asks for no case stays whole"
    if ends == "in a hook":
        line = line_of(BROKEN_HOOKS, f'RuntimeError("{SAID}")')
        assert f"INTERNALERROR> RuntimeError at conftest.py:{line}." in printed
        return
    for error in ("ValueError", "KeyError", "LookupError"):
        assert f"{error} at broken.py:{line_of(BROKEN, f'raise {error}')} was raised" in printed
    assert f"RuntimeError at conftest.py:{line_of(BROKEN_HOOKS, 'raise RuntimeError')}" in printed
    assert f"a thread of your code ended with ValueError at broken.py:{line_of(BROKEN, 'lambda')}" in printed
    assert "lines printed by your code, hidden by --hush-redact)" in printed
