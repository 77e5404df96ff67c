"""The baseline that the last good run of a branch left as an artifact."""

from __future__ import annotations

import io
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from pytest_hush.ci.api import Api, ApiError
from pytest_hush.ci.job import part
from pytest_hush.errors import StoreError

TRUSTED: Final = frozenset({"push", "schedule", "workflow_dispatch"})
"""Events that run the branch's own code. A pull request from a fork may come from a branch of the same name."""
LOOK_AT: Final = 30
"""Runs that are looked at, the newest first: artifacts expire, and a run may have left none."""
LIMIT: Final = 256 * 1024 * 1024
"""Bytes of an artifact, packed and unpacked."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where the baseline comes from: the run's number, page and commit."""

    run: int
    page: str
    commit: str


def fetch_baseline(
    api: Api,
    repository: str,
    *,
    workflow: str,
    branch: str,
    artifact: str,
    name: str,
    out: Path,
    say: Callable[[str], None],
) -> Found | None:
    """Write the file `name` of the newest successful run's `artifact` to `out`; None where no run left one.

    What is no baseline is passed over with a line to `say`. Raises `ApiError`, and `StoreError` where `out` cannot
    be written.
    """
    for run in _good_runs(api, repository, workflow, branch):
        number = int(run["id"])
        for item in api.each(f"repos/{repository}/actions/runs/{number}/artifacts", "artifacts", name=artifact):
            if item.get("name") != artifact or item.get("expired"):
                continue
            try:
                packed = api.download(f"repos/{repository}/actions/artifacts/{int(item['id'])}/zip", limit=LIMIT)
                text = _checked(unpacked(packed, name))
            except (ApiError, StoreError) as error:
                if isinstance(error, ApiError) and error.status not in (404, 410):
                    raise
                say(f"Run {number}: {error} Looking at an earlier one.")
                continue
            _write(out, text)
            return Found(number, str(run.get("html_url") or ""), str(run.get("head_sha") or ""))
    return None


def _good_runs(api: Api, repository: str, workflow: str, branch: str) -> Iterator[Mapping[str, Any]]:
    path = f"repos/{repository}/actions/workflows/{workflow}/runs"
    answer = api.get(path, branch=branch, status="success", per_page=LOOK_AT)
    runs = part(answer, "workflow_runs")
    for run in runs if isinstance(runs, list) else []:
        own = str(part(run, "head_repository", "full_name")).lower() == repository.lower()
        if own and run.get("head_branch") == branch and run.get("event") in TRUSTED:
            yield run


def unpacked(packed: bytes, name: str) -> bytes:
    """The file called `name` in a zip archive, in whatever folder. Raises `StoreError`."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            member = next((m for m in archive.infolist() if PurePosixPath(m.filename).name == name), None)
            if member is None:
                raise StoreError(f"the artifact holds no {name}.")
            with archive.open(member) as file:
                found = file.read(LIMIT + 1)  # what the archive says of its size is not believed
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise StoreError(f"the artifact cannot be unpacked ({error}).") from None
    if len(found) > LIMIT:
        raise StoreError(f"{name} in the artifact has over {LIMIT:,} bytes.")
    return found


def _checked(data: bytes) -> str:
    """`data` as text, when it reads as a saved baseline. Raises `StoreError`."""
    from pytest_hush.store import load_scores

    with tempfile.TemporaryDirectory(prefix="hush-") as folder:
        trial = Path(folder) / "baseline.json"
        trial.write_bytes(data)
        try:
            load_scores(trial)
        except StoreError as error:
            raise StoreError(str(error).replace(str(trial), "its baseline")) from None
    return data.decode("utf-8")


def _write(out: Path, text: str) -> None:
    from pytest_hush.store import write_atomically

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, text)
    except OSError as error:
        raise StoreError(f"{out}: it cannot be written: {error.strerror}.") from error
