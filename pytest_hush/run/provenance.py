"""What a record says about its making: the *instrument* that measured, and the *subject* under test."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pytest_hush.model import DEMONSTRATION_MODELS, Condition, Pack
from pytest_hush.run.binding import Binding
from pytest_hush.run.prompt import PROMPTS
from pytest_hush.store.records import SCHEMA

_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


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

    def joined(attribute: str) -> str:
        found = [str(getattr(judge, attribute, "") or "") for judge in binding.judges]
        return "+".join(dict.fromkeys(f for f in found if f))

    return {
        "pack": f"{pack.name}@{pack.version}+{pack.hash[:12]}",
        "rubric": joined("rubric"),
        "policy": joined("policy"),
        "judge": "+".join(judge_name(judge) for judge in binding.judges),
        "judge_version": joined("version"),
        "schema": SCHEMA,
        "embedded_build": joined("embedded_build"),
    }


def subject(binding: Binding, model: str, condition: Condition) -> dict[str, Any]:
    """Model, memory, their settings and the prompt, for one (model, condition); ``returned_model`` is still empty."""
    memory: object = binding.memory(model, condition.name)
    generator: object = binding.models.get(model)
    if binding.closed:
        generator = binding.assistant
        memory = None
    demonstration = bool(getattr(generator, "demonstration", False)) or model.partition("/")[0] in DEMONSTRATION_MODELS
    return {
        "model": model,
        "returned_model": "",
        "memory": str(getattr(memory, "name", "") or condition.name),
        "memory_version": str(getattr(memory, "version", "") or ""),
        "settings": {"model": settings(generator), "memory": settings(memory)},
        "prompts": "" if binding.closed else PROMPTS,
        "plugin_version": plugin_version(),
        "demonstration": demonstration,
    }


def settings(thing: object) -> dict[str, Any]:
    """The `settings` of a model or memory as plain JSON; what is no JSON is given as its text."""
    found = getattr(thing, "settings", None)
    if not isinstance(found, Mapping):
        return {}
    plain: dict[str, Any] = json.loads(json.dumps(dict(found), default=str))
    return plain


def judge_name(judge: object) -> str:
    return str(getattr(judge, "name", "") or type(judge).__name__)


def keepable(thing: object) -> bool:
    """Whether answers of `thing` may outlive the process in the cache: only where its key can tell versions apart.

    `cacheable` decides if it is there. Else a memory, judge or assistant needs a non-empty `version`, a model
    `settings`; the user's own code (``python:…``, ``custom``) needs a ``version`` in its settings, since an edit of
    it would otherwise be answered from before the edit.
    """
    declared = getattr(thing, "cacheable", None)
    if declared is not None:
        return bool(declared)
    if not hasattr(thing, "reply"):
        return bool(getattr(thing, "version", ""))
    found = settings(thing)
    if "version" in found:
        return True
    name = str(getattr(thing, "name", ""))
    return hasattr(thing, "settings") and name != "custom" and not name.startswith("python:")


def error_text(error: BaseException) -> str:
    """An error in one line of at most 600 characters, with the values of key variables taken out."""
    from pytest_hush.errors import HushError

    text = " ".join(str(error).split())
    if not isinstance(error, HushError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET_NAME.search(name):
            text = text.replace(value, f"<{name}>")
    return text if len(text) <= 600 else text[:599] + "…"
