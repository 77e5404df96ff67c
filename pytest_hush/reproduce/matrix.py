"""Which runs the paper's experiments are: generators x experiments, each a run folder of its own.

Source: HUSH-Bench, arXiv 2606.06055, questions Q1 to Q4. One run a generator, since ``full-context`` is cut to the
context of a plan's smallest: two generators in one plan would read less than each of them alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_hush.errors import UsageError
from pytest_hush.model import digest

PAPER_MODELS: Final = (
    "openai/gpt-4o",
    "anthropic/claude-sonnet-4-6",
    "deepseek/deepseek-v4-flash",
    "qwen/qwen3.5-9b",
)
"""The paper's generators. The last two are named endpoints (``hush_endpoints`` in the ini file)."""
PAPER_MEMORIES: Final = ("full-context", "mem0", "a-mem", "memu")
"""The paper's conditions beside the no-memory reference."""
PACK: Final = "hush-en-1"
THRESHOLDS: Final = "measure-only"


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run a generator. `conditions` None: those that ``--memory`` names. `invitations`: with invited twins."""

    name: str
    title: str
    conditions: tuple[str, ...] | None
    invitations: bool


EXPERIMENTS: Final = (
    Experiment("main", "Q1 and Q3: memory systems, and what exposure explains", None, False),
    Experiment(
        "controls",
        "Q2 and Q4: controls, interventions, invitations",
        (
            "oracle",
            "neutral",
            "irrelevant-sensitive",
            "vector",
            "vector+boundary",
            "oracle+boundary",
            "oracle+revoked",
        ),
        True,
    ),
)


def page_of(folder: Path) -> Path:
    """The page of a run, beside its folder. A model's name may hold dots: nothing of the folder's is a suffix."""
    return folder.with_name(f"{folder.name}.html")


@dataclass(frozen=True, slots=True)
class Job:
    """One run of pytest. `folder` is its run folder under the output folder."""

    model: str
    experiment: Experiment
    conditions: tuple[str, ...]
    folder: Path

    @property
    def page(self) -> Path:
        return page_of(self.folder)

    def arguments(
        self,
        *,
        pack: str = PACK,
        sample: int | None = None,
        seed: int = 0,
        resume: bool = False,
        extra: Sequence[str] = (),
    ) -> list[str]:
        """What follows ``python -m pytest``. `extra` are further options of the run, as they stand."""
        found = [
            f"--hush-model={self.model}",
            f"--hush-memory={','.join(self.conditions)}",
            f"--hush-pack={pack}",
            f"--hush-thresholds={THRESHOLDS}",
            f"--hush-seed={seed}",
            f"--hush-out={self.folder}",
            f"--hush-report={self.page}",
            *([f"--hush-sample={sample}"] if sample is not None else []),
            *(["--hush-invitations"] if self.experiment.invitations else []),
            *(["--hush-resume"] if resume else []),
        ]
        return [*found, *extra]


def jobs(models: Sequence[str], memories: Sequence[str], out: Path, only: str = "all") -> list[Job]:
    """The runs, experiment by experiment. `only` is the name of one experiment, or ``all``.

    A boundary prompt is asked of the first memory system too, as in the paper's intervention. Raises `UsageError` for
    an unknown experiment, and where no generator is named.
    """
    names = [e.name for e in EXPERIMENTS]
    if only != "all" and only not in names:
        raise UsageError(f"--only={only!r}: expected one of {', '.join([*names, 'all'])}.")
    if not models:
        raise UsageError("--models: no generator is named; for example --models=openai/gpt-4o.")
    found = []
    for experiment in EXPERIMENTS:
        if only not in (experiment.name, "all"):
            continue
        conditions = tuple(memories) if experiment.conditions is None else experiment.conditions
        systems = [m for m in memories if m in ("mem0", "a-mem", "memu")]
        if experiment.conditions is not None and systems:
            conditions += (f"{systems[0]}+boundary",)
        if not conditions:
            raise UsageError("--memory: no condition is named; for example --memory=full-context,vector.")
        for model in models:
            folder = out / f"{slug(model)}-{experiment.name}"
            found.append(Job(model, experiment, tuple(dict.fromkeys(conditions)), folder))
    return found


def slug(name: str) -> str:
    """`name` as part of a file's name; two names that would look alike get a digest."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.") or "model"
    return plain if plain == name.replace("/", "-") else f"{plain}-{digest(name, 6)}"
