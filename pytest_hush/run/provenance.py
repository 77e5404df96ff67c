"""What a record says about its making: the *instrument* that measured, and the *subject* under test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from pytest_hush.model import DEMONSTRATION_MODELS, Condition, Pack
from pytest_hush.packs.revoking import revocation_id
from pytest_hush.run.binding import Binding
from pytest_hush.run.prompt import prompts
from pytest_hush.run.wording import plain, shown
from pytest_hush.stats.judges import JOIN, UNVERSIONED
from pytest_hush.store.codec import SCHEMA

_WRAPPERS: Final = frozenset(
    {"pytest_hush.models.python_callable", "pytest_hush.memories.callable", "pytest_hush.judges.python_callable"}
)
"""Modules whose classes stand for code of the user's."""
DIGEST: Final = "digest"
DISCLOSURES: Final = "facts and disclosures"


def plugin_version() -> str:
    """The installed version of pytest-hush, or ``0+source`` when it runs from a bare checkout."""
    try:
        return version("pytest-hush")
    except PackageNotFoundError:
        return "0+source"


def instrument(binding: Binding, pack: Pack) -> dict[str, Any]:
    """Pack, rubric, policy, judges and record schema: records are compared only where these agree.

    Several judges are joined with ``+`` in the order of the binding. May load the judge's embedder, and so raise
    `MissingExtraError`.
    """
    return {
        "pack": f"{pack.name}@{pack.version}+{pack.hash[:12]}",
        **judge_fields(binding.judges, binding.policy),
        "schema": SCHEMA,
        "embedded_build": _joined(binding.judges, "embedded_build"),
        **digest_field(shared=binding.shared),
    }


def judge_fields(judges: Sequence[object], policy: str = "") -> dict[str, str]:
    """Rubric, policy, names and versions of the judges, as an instrument has them. Loads nothing.

    `policy` is that of the run: it stands where no judge names its own.
    """
    versions = [str(getattr(judge, "version", "") or "") for judge in judges]
    return {
        "rubric": _joined(judges, "rubric"),
        "policy": _joined(judges, "policy") or policy,
        "judge": JOIN.join(judge_name(judge) for judge in judges),
        "judge_version": JOIN.join(v or UNVERSIONED for v in versions) if len(versions) > 1 else "".join(versions),
    }


def _joined(judges: Sequence[object], attribute: str) -> str:
    found = [str(getattr(judge, attribute, "") or "") for judge in judges]
    return JOIN.join(dict.fromkeys(f for f in found if f))


def digest_field(*, shared: bool) -> dict[str, str]:
    """The field that an instrument has where the judges' digest lists all disclosures of a persona."""
    return {DIGEST: DISCLOSURES} if shared else {}


def subject(binding: Binding, model: str, condition: Condition) -> dict[str, Any]:
    """Model, memory, their settings and the prompt, for one (model, condition); ``returned_model`` is still empty.

    ``reusable`` False is there where an edit of the code that answers could go unnoticed (`keepable`).
    """
    memory: object = binding.memory(model, condition.name)
    generator: object = binding.models.get(model)
    if binding.closed:
        generator = binding.assistant
        memory = None
    demonstration = bool(getattr(generator, "demonstration", False)) or model.partition("/")[0] in DEMONSTRATION_MODELS
    kept = all(keepable(part) for part in parts(binding, model, condition.name))
    return {
        "model": model,
        "returned_model": "",
        "memory": str(getattr(memory, "name", "") or condition.name),
        "memory_version": str(getattr(memory, "version", "") or ""),
        "settings": {"model": generator_settings(generator), "memory": settings(memory)},
        "prompts": "" if binding.closed else prompts(with_boundary=condition.boundary),
        "plugin_version": plugin_version(),
        "demonstration": demonstration,
        **({"withdrawal": revocation_id()} if condition.revoked else {}),
        **({} if kept else {"reusable": False}),
    }


def parts(binding: Binding, model: str, condition: str) -> list[object]:
    """Model and memory, or the closed assistant, and the judges: whoever answers for this subject."""
    things: tuple[object, ...] = (binding.models.get(model), binding.memory(model, condition))
    if binding.closed:
        things = (binding.assistant,)
    return [thing for thing in (*things, *binding.judges) if thing is not None]


def generator_settings(thing: object) -> dict[str, Any]:
    """The `settings` of a model with what else changes an answer: its output tokens, and a `version`."""
    own = str(getattr(thing, "version", "") or "")
    return {"max_tokens": output_tokens(thing), **({"version": own} if own else {}), **settings(thing)}


def output_tokens(thing: object) -> int:
    """The most tokens of a reply of this model; 800 where it names none (paper, experimental setup)."""
    return int(getattr(thing, "max_tokens", None) or 800)


def settings(thing: object) -> dict[str, Any]:
    """The `settings` of a model or memory as records may hold them: plain JSON without secrets (`wording.shown`)."""
    found: dict[str, Any] = shown(whole_settings(thing))
    return found


def whole_settings(thing: object) -> dict[str, Any]:
    """The same with nothing taken out, to be hashed only: two addresses that differ in a query are two systems."""
    found = getattr(thing, "settings", None)
    return plain(dict(found)) if isinstance(found, Mapping) else {}


def judge_name(judge: object) -> str:
    return str(getattr(judge, "name", "") or type(judge).__name__)


def keepable(thing: object) -> bool:
    """Whether answers of `thing` may outlive the process: only where an edit of its code would be noticed.

    `cacheable` decides if it is there. The code of this package is as old as its version says. The user's own, under
    whatever name, needs a non-empty `version` (for a model also in its settings), since its answers would otherwise
    be given from before an edit. Whatever holds the user's code (`model`, `inner`) is as good as that.
    """
    declared = getattr(thing, "cacheable", None)
    if declared is not None:
        return bool(declared)
    parts = (getattr(thing, name, None) for name in ("model", "inner"))
    if not all(keepable(part) for part in parts if _answers(part)):
        return False
    return _is_ours(type(thing)) or _versioned(thing)


def _answers(part: object) -> bool:
    return part is not None and any(callable(getattr(part, m, None)) for m in ("reply", "context", "judge", "answer"))


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("pytest_hush.") and kind.__module__ not in _WRAPPERS


def _versioned(thing: object) -> bool:
    if whole_settings(thing).get("version"):
        return True
    if not getattr(thing, "version", ""):
        return False
    kinds = type(thing).__mro__
    # A version that is inherited from a class of ours says nothing of the code that was added to it.
    heir = any(_is_ours(kind) and kind.__module__ != "pytest_hush.protocols" for kind in kinds)
    return not heir or any("version" in vars(kind) for kind in kinds if not kind.__module__.startswith("pytest_hush."))
