"""The run folder, cache, budget and engines, as the plugin opens them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import StoreError, UsageError
from pytest_hush.plan import identity
from pytest_hush.plugin.foreseen import check_place
from pytest_hush.private import make_private_folder
from pytest_hush.stats.judges import JOIN
from pytest_hush.version import __version__

if TYPE_CHECKING:
    from pytest_hush.model import Record
    from pytest_hush.plugin.options import Options
    from pytest_hush.plugin.session import HushSession
    from pytest_hush.plugin.setup import Setup
    from pytest_hush.run import Binding, Engine
    from pytest_hush.store import Cache, RecordLog, RunFolder

BUDGET = "budget.sqlite"


def open_run_folder(session: HushSession) -> RunFolder:
    """A fresh folder, or with ``--hush-resume`` the one to finish.

    It is held until the session ends: raises `StoreError` when another session is at work there, `UsageError` when
    there is nothing to resume, or the run there was another one.
    """
    from pytest_hush.plugin.conclude import forget_result
    from pytest_hush.store import RunFolder, latest, revision_of
    from pytest_hush.store.folder import MANIFEST
    from pytest_hush.store.hold import hold, refuse_held

    options, root = session.options, session.options.rootpath
    if options.report is not None:
        check_place(options.report)
    manifest = run_manifest(session.setup)
    if not options.resume:
        if options.out is not None and (options.out / MANIFEST).is_file():
            refuse_held(options.out)  # before it is renamed away from a session that still writes into it
        folder = RunFolder.create(options.out, {**manifest, "revision": revision_of(root)}, root=root)
        session.let_go = hold(folder.path)
        forget_result(folder.path)
        folder.keep_plan(session.setup.plan)
        session.messages += folder.messages
        return folder
    path = options.out or latest(root)
    if path is None:
        raise UsageError(
            f"--hush-resume: there is no run to finish under {root / '.hush'}. Name its folder with --hush-out, or "
            f"leave --hush-resume out."
        )
    try:
        if (path / MANIFEST).is_file():
            session.let_go = hold(path)
        folder = RunFolder.resume(path, manifest)
        forget_result(path)
        taken = sum(r.subject.get("reusable") is False and r.measured for r in folder.records())
    except StoreError as error:
        raise UsageError(f"--hush-resume: {error}") from None
    if taken:
        # Asking again would cost what a resume is there to save; that the code stayed the same only its owner knows.
        session.messages += (
            f"{taken} records of the interrupted run are of your own code, which declares no `version`: they are taken "
            f"as they are. If you edited that code meanwhile, start a fresh run.",
        )
    return folder


def open_cache(options: Options) -> Cache | None:
    """The response cache, None where it is off. Raises `StoreError` for a place that cannot hold one."""
    from pytest_hush.store import Cache

    if options.cache is None:
        return None
    try:
        make_private_folder(options.cache.parent)
    except OSError as error:
        raise StoreError(f"--hush-cache={options.cache}: its folder cannot be made: {error.strerror}.") from error
    return Cache(options.cache)


def run_manifest(setup: Setup) -> dict[str, Any]:
    """What a resumed run must share with the one it finishes, and what a reader wants to know of it."""
    from pytest_hush.run.provenance import digest_field, generator_settings, settings

    plan = setup.plan
    subject: dict[str, Any] = {"plugin_version": __version__}
    for name, model in setup.models.items():
        subject[f"model {name}"] = generator_settings(model)
    for name, memory in setup.memories.items():
        subject[f"memory {name}"] = {"version": str(getattr(memory, "version", "") or ""), **settings(memory)}
    return {
        "plan_hash": plan.hash,
        "plan": {
            "pack": plan.pack.name,
            "models": ", ".join(plan.models),
            "conditions": ", ".join(c.name for c in plan.conditions),
            "sample": plan.sample,
            "seed": plan.seed,
            "repeats": plan.repeats,
            **({"two_look": len(plan.first_look)} if plan.first_look else {}),
        },
        "instrument": {
            "pack": f"{plan.pack.name}@{plan.pack.version}+{plan.pack.hash[:12]}",
            **_judges(setup),
            **digest_field(shared=any(c.shared for c in plan.conditions)),
        },
        "subject": subject,
        "thresholds": f"{setup.thresholds.name}@{setup.thresholds.version}+{setup.thresholds.hash[:12]}",
        "mode": setup.options.mode,
        "private": plan.pack.private,
        **({"shard": setup.options.shard} if setup.options.shard else {}),
        "screening_judge": setup.screening("first"),
        **({"screening_judges": setup.screening("mean")} if len(setup.judges) > 1 else {}),
        # What `uis_sensitive` counts: the policy's file need not be there when the run is judged once more.
        "sensitive": {
            "categories": list(setup.policy.sensitive.categories),
            "facts": list(setup.policy.sensitive.facts),
        },
    }


def _judges(setup: Setup) -> dict[str, Any]:
    """What is known of the judges before the first call; one that a fixture brings is ``custom``."""
    from pytest_hush.run.provenance import judge_fields

    repeats, policy = setup.options.judge_repeats, setup.policy.id
    told = judge_fields([judge for judge in setup.judges.values() if judge is not None])
    names = JOIN.join(setup.judges)
    return {**told, "judge": names, "policy": policy, **({"judge_repeats": repeats} if repeats > 1 else {})}


def ready_records(session: HushSession) -> Mapping[str, Record]:
    """What an earlier part of this run has measured already, by key."""
    if not session.options.resume or session.folder is None:
        return {}
    return {record.key: record for record in session.folder.records()}


def make_engine(session: HushSession, binding: Binding, log: RecordLog, ready: Mapping[str, Record]) -> Engine:
    """The engine for one binding: this process's share of the limit, the shared cache and budget."""
    from pytest_hush.loading import kind_and_place
    from pytest_hush.run import Engine, Pipeline, RetryPolicy, RunOptions
    from pytest_hush.run.wording import error_text
    from pytest_hush.store import Budget

    options, setup = session.options, session.setup
    assert session.folder is not None
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
            judge_repeats=options.judge_repeats,
        ),
        cache=session.cache,
        budget=budget,
    )
    hook = session.config.hook

    def on_record(record: Record) -> None:
        hook.pytest_hush_record(record=record)

    telling = kind_and_place if session.secret else error_text
    return Engine(pipeline, log, ready=ready, on_record=on_record, telling=telling)


def planned_records(session: HushSession) -> list[Record]:
    """The run's records that answer a case of the plan, in the order of their identities."""
    assert session.folder is not None
    wanted = {identity(case) for case in session.setup.plan.cases}
    return [r for r in session.folder.records() if r.identity in wanted]
