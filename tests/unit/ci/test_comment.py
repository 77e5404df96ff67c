"""`hush ci comment` against a server that answers as GitHub does: one comment, updated in place, by its own author."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_hush.ci.comment import FOREIGN, LIMIT, defanged
from pytest_hush.report.markdown import MARKER, comment
from tests.unit.ci.conftest import Job
from tests.unit.ci.github import TOKEN, Failure
from tests.unit.factories import make_pack, make_plan, make_records
from tests.unit.report.making import summary_of

PLAN = make_plan(make_pack(3, 2), conditions="vector,oracle")
RECORDS = make_records(PLAN, lambda case: 1.0)
REPORT = comment(summary_of(RECORDS, PLAN), exit_code=1, records=RECORDS)
FORK = {
    "workflow_run": {
        "id": 900,
        "event": "pull_request",
        "head_sha": "c" * 40,
        "head_branch": "patch",
        "head_repository": {"owner": {"login": "mallory"}},
    }
}


@pytest.fixture
def body(job: Job) -> Path:
    path = job.folder / "comment.md"
    path.write_text(REPORT, encoding="utf-8")
    return path


def pull(number: int, sha: str, owner: str = "mallory", state: str = "open") -> dict[str, object]:
    return {"number": number, "state": state, "head": {"sha": sha, "ref": "patch", "user": {"login": owner}}}


def bodies(job: Job, number: int = 7) -> list[str]:
    return [c["body"] for c in job.hub.comments.get(number, [])]


def test_the_first_run_creates_it_and_later_ones_update_it(job: Job, body: Path) -> None:
    for k in range(250):
        job.hub.add_comment(7, f"talk {k}", author="ada")
    assert job.run("comment", "--body", body).output == "comment on #7: created\n"
    assert bodies(job)[-1] == REPORT.replace(MARKER, f"{MARKER}\n<!-- run 500 -->", 1)
    job.environ("GITHUB_RUN_ID", "501")
    body.write_text(f"{MARKER}\nbetter now\n", encoding="utf-8")
    assert job.run("comment", "--body", body).output == "comment on #7: updated\n"
    assert bodies(job)[250:] == [f"{MARKER}\n<!-- run 501 -->\nbetter now\n"]
    assert job.run("comment", "--body", body).output == "comment on #7: left alone: it says the same\n"
    assert job.hub.paths("PATCH") == ["/repos/acme/assistant/issues/comments/1250"]


def test_an_older_run_that_ends_later_changes_nothing(job: Job, body: Path) -> None:
    job.run("comment", "--body", body)
    job.environ("GITHUB_RUN_ID", "499")
    assert "left alone: it is of a later run" in job.run("comment", "--body", body).output
    assert len(bodies(job)) == 1


def test_a_comment_of_somebody_else_is_never_changed(job: Job, body: Path) -> None:
    job.hub.add_comment(7, f"{MARKER}\nI am the report", author="mallory")
    job.hub.add_comment(7, f"> {MARKER}\n> quoted")
    assert "created" in job.run("comment", "--body", body).output
    assert bodies(job)[0] == f"{MARKER}\nI am the report"
    assert len(bodies(job)) == 3


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "7"}])
def test_what_passes_is_tried_again(job: Job, body: Path, headers: dict[str, str]) -> None:
    job.hub.failures = [Failure(503, headers=headers), Failure(429, "POST", headers={"Retry-After": "3"})]
    result = job.run("comment", "--body", body)
    assert result.exit_code == 0, result.output
    assert "::warning title=hush::GET" in result.output
    assert job.waits[0] == (7.0 if headers else 1.0)
    assert len(bodies(job)) == 1


def test_an_answer_that_was_lost_does_not_make_two_comments(job: Job, body: Path) -> None:
    job.hub.failures = [Failure(502, "POST", after=True)]
    assert "left alone: it says the same" in job.run("comment", "--body", body).output
    assert len(bodies(job)) == 1


def test_where_the_token_may_not_comment_the_verdict_stands(job: Job, body: Path) -> None:
    job.hub.read_only = True
    result = job.run("comment", "--body", body)
    assert result.exit_code == 0
    assert "403 (Resource not accessible by integration)" in result.output
    assert "the verdicts stand" in result.output
    assert job.waits == []


@pytest.mark.parametrize(
    "failures, told",
    [
        ([Failure(500, message="boom")] * 4, "the server answered 500 (boom)"),
        ([Failure(401, message="Bad credentials")], "401 (Bad credentials)"),
        ([Failure(422, "POST", message="Validation Failed")], "422 (Validation Failed)"),
    ],
)
def test_any_other_failure_is_one_clear_error(job: Job, body: Path, failures: list[Failure], told: str) -> None:
    job.hub.failures = failures
    result = job.run("comment", "--body", body)
    assert (result.exit_code, told in result.output) == (4, True)


def test_a_message_that_quotes_the_token_is_blotted(job: Job, body: Path) -> None:
    job.hub.failures = [Failure(400, message=f"bad header Bearer {TOKEN}")]
    assert "bad header Bearer <secret>" in job.run("comment", "--body", body).output


def test_the_token_is_not_sent_in_clear(job: Job, body: Path) -> None:
    job.environ("GITHUB_API_URL", "http://api.example.com")
    result = job.run("comment", "--body", body)
    assert (result.exit_code, "a token is not sent in clear" in result.output) == (4, True)


def test_without_a_token_nothing_is_asked(job: Job, body: Path) -> None:
    job.environ("GITHUB_TOKEN", "")
    result = job.run("comment", "--body", body)
    assert (result.exit_code, "No token: expected GITHUB_TOKEN" in result.output) == (4, True)
    assert job.hub.asked == []


def test_a_dry_run_prints_and_asks_nothing(job: Job, body: Path) -> None:
    job.environ("GITHUB_TOKEN", "")
    result = job.run("comment", "--body", body, "--dry-run")
    assert result.output.startswith(f"{MARKER}\n<!-- run 500 -->\n### ⚠ hush: PASSED, 4 INCONCLUSIVE")
    assert job.hub.asked == []


def test_a_push_has_no_pull_request(job: Job, body: Path) -> None:
    job.event({"ref": "refs/heads/main"})
    assert job.run("comment", "--body", body).output == "no comment: the event is of no pull request\n"


def test_a_missing_report_is_said_on_the_pull_request(job: Job) -> None:
    assert job.run("comment", "--body", "none.md").exit_code == 4
    assert "created" in job.run("comment", "--body", "none.md", "--or-no-verdict").output
    assert "### ❌ hush: no verdict" in bodies(job)[0]


# ---- a pull request from a fork ---------------------------------------------------------------------


def test_the_pull_request_of_a_run_is_asked_of_the_server(job: Job, body: Path) -> None:
    job.event(FORK)
    job.hub.pulls = [
        pull(3, "c" * 40, owner="eve"),
        pull(4, "d" * 40),
        pull(5, "c" * 40),
        pull(6, "c" * 40, state="closed"),
    ]
    assert "comment on #5: created" in job.run("comment", "--body", body, "--untrusted").output
    found = bodies(job, 5)[0]
    assert found.startswith(f"{MARKER}\n<!-- run 900 -->\n{FOREIGN}\n")
    job.hub.pulls = [pull(5, "e" * 40)]
    assert "no open pull request has cccccccccccc as its head" in job.run("comment", "--body", body).output


def test_a_run_of_a_push_is_not_commented_on(job: Job, body: Path) -> None:
    job.event({"workflow_run": FORK["workflow_run"] | {"event": "push"}})
    assert "started by 'push', not by a pull request" in job.run("comment", "--body", body).output


def test_our_own_report_comes_through_as_it_was() -> None:
    assert defanged(REPORT, MARKER) == f"{FOREIGN}\n\n{REPORT.removeprefix(MARKER)[1:]}"


@pytest.mark.parametrize(
    "hostile, never",
    [
        ("ping @octocat and @acme/team", ["@octocat", "@acme"]),
        ("&#64;octocat &commat;octocat &#x40;octocat", ["&#64;", "&commat;", "&#x40;"]),
        ("[pay](https://evil.example) ![x](http://evil.example/b.png)", ["](", "![", "https://", "http://"]),
        ("<https://evil.example> www.evil.example", ["<http", "www.evil"]),
        ("<img src=x onerror=alert(1)><a href=x>y</a><details open>", ["<img", "<a ", "<details open"]),
        (f"a\n{MARKER}\n<!-- run 999999 -->", [MARKER, "<!-- run"]),
        ("fixes #12, GH-12", ["#12", "GH-12"]),
        ("user\u202egnp.exe\u200b\x1b[2J", ["\u202e", "\u200b", "\x1b"]),
        ("x" * 200_000, []),
    ],
)
def test_a_forks_text_reaches_nobody_and_hides_nothing(job: Job, hostile: str, never: list[str]) -> None:
    (job.folder / "comment.md").write_text(f"{MARKER}\n{hostile}", encoding="utf-8")
    assert "created" in job.run("comment", "--body", "comment.md", "--untrusted").output
    found = bodies(job)[0]
    assert len(found) <= LIMIT
    after = found.partition(FOREIGN)[2]
    assert [text for text in never if text in after] == []
