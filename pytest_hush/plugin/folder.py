"""The run folder, cache, budget and engines, as the plugin opens them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import StoreError, UsageError
from pytest_hush.plan import identity
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from pytest_hush.model import Record
    from pytest_hush.plugin.session import HushSession
    from pytest_hush.plugin.setup import Setup
    from pytest_hush.run import Binding, Engine
    from pytest_hush.store import RecordLog, RunFolder

BUDGET = "budget.sqlite"


def open_run_folder(session: HushSession) -> RunFolder:
    """A fresh folder, or with ``--hush-resume`` the one to finish.

    Raises `UsageError` when there is nothing to resume, `StoreError` when the run there was another one.
    """
    from pytest_hush.store import RunFolder, latest

    options, root = session.options, session.options.rootpath
    manifest = run_manifest(session.setup)
    if not options.resume:
        folder = RunFolder.create(options.out, manifest, root=root)
        session.messages += folder.messages
        return folder
    path = options.out or latest(root)
    if path is None:
        raise UsageError(
            f"--hush-resume: there is no run to finish under {root / '.hush'}. Name its folder with --hush-out, or "
            f"leave --hush-resume out."
        )
    try:
        return RunFolder.resume(path, manifest)
    except StoreError as error:
        raise UsageError(f"--hush-resume: {error}") from None


def run_manifest(setup: Setup) -> dict[str, Any]:
    """What a resumed run must share with the one it finishes, and what a reader wants to know of it."""
    plan = setup.plan
    subject: dict[str, Any] = {name: settings_of(model) for name, model in setup.models.items()}
    subject["plugin_version"] = __version__
    subject |= {f"memory {name}": settings_of(memory) for name, memory in setup.memories.items()}
    judge = setup.judge
    return {
        "plan_hash": plan.hash,
        "instrument": {
            "pack": f"{plan.pack.name}@{plan.pack.version}+{plan.pack.hash[:12]}",
            "judge": settings_of(judge) | {"rubric": getattr(judge, "rubric", "")},
        },
        "subject": subject,
        "models": list(plan.models),
        "conditions": [c.name for c in plan.conditions],
        "sample": plan.sample,
        "seed": plan.seed,
        "repeats": plan.repeats,
        "thresholds": f"{setup.thresholds.name}@{setup.thresholds.version}+{setup.thresholds.hash[:12]}",
        "mode": setup.options.mode,
    }


def settings_of(thing: object) -> dict[str, Any]:
    """Name, version and settings of a model, memory or judge; None (``custom``) has none before tests start."""
    from pytest_hush.run.provenance import settings

    return {
        "name": str(getattr(thing, "name", "") or ""),
        "version": str(getattr(thing, "version", "") or ""),
        "settings": settings(thing),
    }


def ready_records(session: HushSession) -> Mapping[str, Record]:
    """What an earlier part of this run has measured already, by key."""
    if not session.options.resume or session.folder is None:
        return {}
    return {record.key: record for record in session.folder.records()}


def make_engine(session: HushSession, binding: Binding, log: RecordLog, ready: Mapping[str, Record]) -> Engine:
    """The engine for one binding: this process's share of the limit, the shared cache and budget."""
    from pytest_hush.run import Engine, Pipeline, RetryPolicy, RunOptions
    from pytest_hush.store import Budget, Cache

    options, setup = session.options, session.setup
    assert session.folder is not None
    cache = None
    if options.cache is not None:
        options.cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        cache = Cache(options.cache)
    budget = None if options.max_cost is None else Budget(session.folder.path / BUDGET, options.max_cost)
    pipeline = Pipeline(
        binding,
        setup.pack,
        plan_hash=setup.plan.hash,
        options=RunOptions(
            in_flight=session.in_flight(),
            seed=options.seed,
            policy=RetryPolicy(deadline_s=options.deadline),
            explain_misses=options.explain_misses,
        ),
        cache=cache,
        budget=budget,
    )
    hook = session.config.hook

    def on_record(record: Record) -> None:
        hook.pytest_hush_record(record=record)

    return Engine(pipeline, log, ready=ready, on_record=on_record)


def planned_records(session: HushSession) -> list[Record]:
    """The run's records that answer a case of the plan, in the order of their identities."""
    assert session.folder is not None
    wanted = {identity(case) for case in session.setup.plan.cases}
    return [r for r in session.folder.records() if r.identity in wanted]
