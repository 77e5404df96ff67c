"""The judges of a run, the policy that they apply, and whether the gates are for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_hush.bundled import bundled_names
from pytest_hush.errors import UsageError
from pytest_hush.judges.policy import DEFAULT, Policy, is_for, load_policy, policy_name

if TYPE_CHECKING:
    from pytest_hush.plugin.options import Options
    from pytest_hush.protocols import Judge
    from pytest_hush.thresholds import Thresholds

CUSTOM: Final = "custom"
"""The name of a judge that comes from the user's fixture."""


def run_policy(options: Options) -> Policy:
    """The policy of ``--hush-policy``. Raises `UsageError`."""
    return load_policy(options.policy or DEFAULT)


def resolve_judges(ask: Callable[[str], Any], specs: tuple[str, ...]) -> dict[str, Judge | None]:
    """The judges that `specs` name, by their names and in that order; None stands for ``custom``.

    `ask` gives what the hooks answer to one spec. Raises `UsageError` for one that nobody knows, and for two judges
    whose judgements no record could tell apart.
    """
    from pytest_hush.judges.python_callable import wrap_judge
    from pytest_hush.run.provenance import judge_name

    found: dict[str, Judge | None] = {}
    for spec in specs:
        judge: Judge | None = None
        name = spec
        if spec != CUSTOM:
            given = ask(spec)
            if given is None:
                raise UsageError(f"--hush-judge={spec!r}: no judge of that name.")
            judge = wrap_judge(given, name=spec)
            name = judge_name(judge)
        if name in found:
            raise _same(name)
        found[name] = judge
    distinct(judge for judge in found.values() if judge is not None)
    return found


def distinct(judges: Iterable[Judge]) -> tuple[Judge, ...]:
    """`judges` as they are. Raises `UsageError` where no record could tell their judgements apart."""
    from pytest_hush.run.provenance import judge_name
    from pytest_hush.stats.judges import JOIN

    found = tuple(judges)
    names = [judge_name(judge) for judge in found]
    for name in names:
        if names.count(name) > 1:
            raise _same(name)
        if JOIN in name and len(names) > 1:
            raise UsageError(f"--hush-judge: the judge {name!r} cannot be one of several: its name holds {JOIN!r}.")
    return found


def _same(name: str) -> UsageError:
    return UsageError(f"--hush-judge: two judges are called {name!r}. Give each a name of its own.")


def check_readable(judges: Mapping[str, Judge | None], models: Iterable[str]) -> None:
    """Refuse a judge that cannot read one of `models`: ``trace`` knows the parrot's wording alone."""
    for name, judge in judges.items():
        only = tuple(getattr(judge, "only", None) or ())
        other = [m for m in models if only and m.partition("/")[0] not in only]
        if other:
            raise UsageError(
                f"--hush-judge={name}: it reads the replies of {', '.join(only)} alone, and the plan has {other[0]}. "
                f"Name another judge, or measure --hush-model={only[0]}."
            )


def check_policies(judges: Mapping[str, Judge | None], options: Options, thresholds: Thresholds) -> None:
    """Refuse judges, a ``--hush-policy`` and a threshold file that are not of one policy. Raises `UsageError`.

    A judge of the user's that names no policy goes with any, and every surface warns; in release mode it is refused.
    """
    policy = run_policy(options)
    for name, judge in judges.items():
        own = str(getattr(judge, "policy", "") or "")
        if own and options.policy and policy_name(own) != policy.name:
            raise UsageError(
                f"--hush-policy={options.policy}: the run is to measure {policy.name!r}, the judge {name} measures "
                f"{policy_name(own)!r}. Leave the option out, or name a judge of that policy."
            )
        measured = own or (policy.id if options.policy else "")
        if judge is not None and not measured and options.mode == "release":
            raise UsageError(
                f"--hush-mode=release: the judge {name} names no policy, so nothing shows that it measures "
                f"{thresholds.policy!r}, that of the gate file. Give the judge an attribute `policy`, or name the one "
                f"that it applies with --hush-policy."
            )
        if measured and not is_for(thresholds.policy, measured):
            raise UsageError(
                f"--hush-thresholds={options.thresholds}: the file is for the policy {thresholds.policy!r}, the judge "
                f"{name} measures {policy_name(measured)!r}. Name a file and a judge of one policy"
                f"{_advice(policy, measured, thresholds)}."
            )


def _advice(policy: Policy, measured: str, thresholds: Thresholds) -> str:
    if measured == policy.id and policy.thresholds and policy.thresholds != thresholds.name:
        # A gate file of the user's own is given by its path, which a policy does not know.
        own = f"{policy.thresholds}.toml" not in bundled_names("thresholds")
        named = f" with the path of your gate file {policy.thresholds!r}" if own else f"={policy.thresholds}"
        return f" (for this policy --hush-thresholds{named}, or --hush-policy={thresholds.policy})"
    return ""
