"""One comment on a pull request, found again by its first line and updated in place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_hush.ci.api import TRIES, Api, ApiError
from pytest_hush.ci.job import part
from pytest_hush.errors import UsageError
from pytest_hush.report.visible import visible

LIMIT: Final = 65_536
"""Characters of a comment that GitHub takes."""
AUTHOR: Final = "github-actions[bot]"
"""Who writes with a job's own token. Others' comments are never changed, whatever they start with."""
FOREIGN: Final = (
    "> Measured in a pull request from a fork, by that fork's code: these figures are what that code says of itself. "
    "Look at its changes before you believe them."
)
_RUN: Final = re.compile(r"<!-- run (\d+) -->")
_ENTITY: Final = re.compile(r"&(?!(?:#(?:33|35|36|38|42|60|62|91|92|93|95|96|124|126)|lt);)")
"""An ampersand that our own escapes do not write: ``&#64;`` would be a mention again."""
_TAG: Final = re.compile(r"<(?!/?(?:sub|br|code|details|summary)>|!-- -->)")


def pull_request(api: Api, repository: str, event: Mapping[str, Any]) -> tuple[int | None, str]:
    """The number of the event's pull request, and where there is none, why.

    Of a ``workflow_run`` the pull request is asked of the server by the branch and commit that the event names: what
    an artifact of that run says of itself proves nothing.
    """
    number = part(event, "pull_request", "number")
    if isinstance(number, int):
        return number, ""
    run = part(event, "workflow_run")
    if not isinstance(run, Mapping):
        return None, "the event is of no pull request"
    if run.get("event") != "pull_request":
        return None, f"the run was started by {run.get('event')!r}, not by a pull request"
    owner, branch, commit = part(run, "head_repository", "owner", "login"), run.get("head_branch"), run.get("head_sha")
    if not (owner and branch and commit):
        return None, "the event does not name the run's branch and commit"
    for found in api.each(f"repos/{repository}/pulls", state="open", head=f"{owner}:{branch}"):
        if part(found, "head", "sha") == commit:
            return int(found["number"]), ""
    return None, f"no open pull request has {str(commit)[:12]} as its head (it moved on, or is closed)"


def run_number(event: Mapping[str, Any], environ: Mapping[str, str]) -> int:
    """The id of the run that was measured; later runs have higher ones. 0 where nobody says."""
    found = part(event, "workflow_run", "id")
    if isinstance(found, int):
        return found
    named = environ.get("GITHUB_RUN_ID", "")
    return int(named) if named.isascii() and named.isdigit() else 0


def with_marks(text: str, marker: str, run: int) -> str:
    """`text` with `marker` as its first line and the run's number as its second. Raises `UsageError` when too long."""
    body = text.removeprefix(marker).lstrip("\n")
    marked = f"{marker}\n<!-- run {run} -->\n{body}"
    if len(marked) > LIMIT:
        raise UsageError(
            f"The comment has {len(marked):,} characters; GitHub takes {LIMIT:,}. Write it with `hush report "
            f"--markdown` or `hush ci gate`, which keep below."
        )
    return marked


def defanged(text: str, marker: str) -> str:
    """`text` of people who are not trusted: no link, image, mention, reference or tag beyond those of our own tables.

    What `hush report --markdown` writes comes back as it was. Longer than a comment may be, it is cut at a line.
    """
    lines = [visible(line) for line in text.removeprefix(marker).lstrip("\n").split("\n")]
    body = _TAG.sub("&lt;", _ENTITY.sub("&amp;", "\n".join(lines)))
    body = body.replace("[", "&#91;").replace("]", "&#93;").replace("://", ":<!-- -->//")
    body = re.sub(r"@(?!<!-- -->)", "@<!-- -->", body)
    body = re.sub(r"(?<!&)#(?=\d)", "#<!-- -->", body)
    body = re.sub(r"(?i)\b(gh-|www\.)(?!<!-- -->)", r"\1<!-- -->", body)
    room = LIMIT - len(FOREIGN) - len(marker) - 200
    if len(body) > room:
        body = body[:room].rpartition("\n")[0] + "\n\n(cut here)"
    return f"{FOREIGN}\n\n{body}"


def place(api: Api, repository: str, number: int, body: str, *, marker: str, run: int, author: str = AUTHOR) -> str:
    """Put `body` on the pull request: in place of the comment with `marker`, else as a new one.

    Returns what was done, in words. A comment of a later run than `run` stands. Raises `ApiError`.
    """
    for count in range(1, TRIES + 1):
        # Looked for at every try: a request without an answer may have written the comment.
        found = _own(api, repository, number, marker, author)
        if found is not None and _run_of(found) > run:
            return "left alone: it is of a later run"
        if found is not None and str(found.get("body")).replace("\r\n", "\n") == body:
            return "left alone: it says the same"
        try:
            if found is None:
                api.send("POST", f"repos/{repository}/issues/{number}/comments", {"body": body})
                return "created"
            api.send("PATCH", f"repos/{repository}/issues/comments/{int(found['id'])}", {"body": body})
            return "updated"
        except ApiError as error:
            if not error.passing or count == TRIES:
                raise
            api.wait(error, count)
    raise AssertionError("unreachable")


def _own(api: Api, repository: str, number: int, marker: str, author: str) -> Mapping[str, Any] | None:
    for comment in api.each(f"repos/{repository}/issues/{number}/comments"):
        own = part(comment, "user", "login") == author
        if own and str(comment.get("body") or "").replace("\r\n", "\n").startswith(f"{marker}\n"):
            return dict(comment)
    return None


def _run_of(comment: Mapping[str, Any]) -> int:
    second = str(comment.get("body") or "").replace("\r\n", "\n").split("\n", 2)[1]
    found = _RUN.fullmatch(second.strip())
    return int(found[1]) if found else 0
