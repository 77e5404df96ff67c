"""A model as judge behind a real HTTP server, in one run with another fault at each reply.

`pytest -m real -s tests/e2e/test_judge_faults.py` prints the table that docs/guide/judges.md shows.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.e2e.test_real_run import COMPLETE
from tests.plugin.conftest import read_lines, read_result
from tests.unit.models.server import HTML, ScriptedServer, Step, chat, openai_error

pytestmark = pytest.mark.real

QUOTE: Final = "the soup for a quiet evening"
SCORES: Final[dict[str, Any]] = {
    "rationale": "It points back.",
    "evidence": QUOTE,
    "used": ["target"],
    "v": 0.5,
    "target_uptake": 0.5,
    "over_scope": 0.25,
    "helpfulness": 0.75,
}
Say = Callable[[str, int], Step]
"""From the case's code and the number of the request for this reply (from 1) to what the server does."""


def answer(case: str, **changes: Any) -> str:
    return json.dumps({"case": case, **SCORES} | changes)


def always(make: Callable[[str], str]) -> Say:
    return lambda case, _: chat(make(case))


def once(bad: Callable[[str], Step]) -> Say:
    """The fault at the first request, a good answer after it."""
    return lambda case, count: bad(case) if count == 1 else chat(answer(case))


def served(step: Step) -> Say:
    return lambda _case, _count: step


# what happens; what the server does; the record's status; requests for this reply (None: as many as the retries make)
FAULTS: Final[dict[str, tuple[Say, str, int | None]]] = {
    "a good answer": (always(answer), "ok", 1),
    "code fences and text around": (always(lambda c: f"Sure!\n```json\n{answer(c)}\n```\nDone."), "ok", 1),
    "zero-width characters": (
        always(lambda c: answer(c).replace(":", "\u200b:\u200d").replace("{", "\ufeff{")),
        "ok",
        1,
    ),
    "numbers as strings": (always(lambda c: answer(c, v="0.5", target_uptake="0.5")), "ok", 1),
    "cut JSON, then good": (once(lambda c: chat(answer(c)[:90], reason="length")), "ok", 2),
    "cut JSON twice": (always(lambda c: answer(c)[:90]), "unscored", 2),
    "downgrade: 0 instead of JSON": (always(lambda _: "downgrade: 0"), "unscored", 2),
    "a refusal": (lambda _c, _n: chat(None, refusal="I cannot judge this."), "unscored", 2),
    "a content filter": (lambda _c, _n: chat("", reason="content_filter"), "unscored", 2),
    "nothing": (always(lambda _: ""), "unscored", 2),
    "v of 1.4": (always(lambda c: answer(c, v=1.4)), "unscored", 2),
    "v of NaN": (always(lambda c: answer(c, v=float("nan"))), "unscored", 2),
    "a field left out": (always(lambda c: answer(c).replace('"v"', '"w"')), "unscored", 2),
    "evidence that is not in the reply": (always(lambda c: answer(c, evidence="your illness")), "unscored", 2),
    "v of 0 beside something used": (always(lambda c: answer(c, v=0)), "unscored", 2),
    "ids that do not exist": (always(lambda c: answer(c, used=["f999"])), "unscored", 2),
    "the code of another case": (always(lambda _: answer("0123456789abcdef")), "unscored", 2),
    "two judgements that differ": (always(lambda c: answer(c) + "\n" + answer(c, v=1)), "unscored", 2),
    "a field given twice": (always(lambda c: answer(c)[:-1] + ', "v": 0}'), "unscored", 2),
    "100 kB of brackets": (always(lambda _: "[" * 100_000), "unscored", 2),
    "503, then good": (once(lambda _: openai_error(503, "busy")), "ok", 2),
    "429 with Retry-After, then good": (
        once(lambda _: openai_error(429, "slow", headers={"Retry-After": "1"})),
        "ok",
        2,
    ),
    "the connection cut, then good": (once(lambda _: Step(deed="cut")), "ok", 2),
    "503 for ever": (served(openai_error(503, "busy")), "error", None),
    "the connection cut for ever": (served(Step(deed="cut")), "error", None),
    "no answer in time": (served(Step(deed="hang")), "error", None),
    "502 with a web page for ever": (served(Step(502, HTML.body, HTML.content_type)), "error", None),
    "400, too long": (served(openai_error(400, "maximum context length is 8192 tokens")), "error", 1),
    "a judgement about an invited turn": (always(lambda c: answer(c, v=None)), "unscored", 2),
    "a reply of 100 kB to judge": (always(answer), "unscored", 0),
}
NAMES: Final = list(FAULTS)


class FaultyJudge:
    """The server's script: reads the fault's number in the reply that it is to judge."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Step:
        asked = json.dumps(body["messages"])
        found = re.search(r"no\. (\d+)\.", asked)
        case = re.search(r"for case (\w+)", asked)
        assert found, asked[-400:]
        assert case, asked[-400:]
        name = NAMES[int(found[1])]
        with self._lock:
            self.requests[name] += 1
            count = self.requests[name]
        return FAULTS[name][0](case[1], count)


GENERATOR: Final = f"""
import itertools
count = itertools.count()
LONG = {NAMES.index("a reply of 100 kB to judge")}

def reply(messages):
    number = next(count)
    text = f"Recipe no. {{number}}. Make {QUOTE}, with bread."
    return text + " And stir." * 10_000 if number == LONG else text

reply.version = "1"
"""
OPTIONS: Final = (
    "--hush-model=python:cook:reply",
    "--hush-memory=oracle",
    f"--hush-sample={len(FAULTS) // 2}",
    "--hush-judge=faulty/m-1",
    "--hush-timeout=2",
    "--hush-deadline=8",
    "--hush-thresholds=complete.toml",
    "--hush-out=out",
)


def test_a_fault_is_a_retry_an_unscored_case_or_an_error_and_never_a_score(pytester: pytest.Pytester) -> None:
    assert len(FAULTS) % 2 == 0, "each probe has two replies: without memory and with it"
    pytester.makepyfile(cook=GENERATOR)
    (pytester.path / "complete.toml").write_text(COMPLETE, encoding="utf-8")
    judge = FaultyJudge()
    with ScriptedServer(judge) as server:
        pytester.makeini(f"[pytest]\npythonpath = .\nhush_endpoints =\n    faulty = {server.url}/v1\n")
        result = pytester.runpytest_subprocess(*OPTIONS, "-p", "no:xdist", timeout=300)
    assert result.ret == 1, result.stdout.str()
    rows = {name_of(row): row for row in read_lines(pytester.path / "out") if row["kind"] == "probe"}
    table = [(name, rows[name]["status"], judge.requests[name], why(rows[name])) for name in NAMES]
    print("\n| what happens | the case | requests | what the record says |\n|---|---|---|---|")
    for name, status, count, said in table:
        print(f"| {name} | {status} | {count} | {said} |")
    wanted = {name: status for name, (_, status, _) in FAULTS.items()}
    assert {name: status for name, status, *_ in table} == wanted
    for name, _, count, _ in table:
        planned = FAULTS[name][2]
        assert count == planned if planned is not None else count >= 2, (name, count)
    for name, row in rows.items():
        scores = [judgement["v"] for judgement in row["judgements"]]
        assert scores == ([0.5] if row["status"] == "ok" else []), name
    assert read_result(pytester.path / "out")["status"] == "failed", "what was not scored is missing, and not a pass"


def name_of(row: dict[str, Any]) -> str:
    found = re.search(r"no\. (\d+)\.", row["reply"])
    assert found, row["reply"]
    return NAMES[int(found[1])]


def why(row: dict[str, Any]) -> str:
    return " ".join(str(row["error"] or "").split())[:150]
