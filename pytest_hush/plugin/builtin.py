"""The built-in models, memories, judges and packs, registered through the public hooks and asked last."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_hush.model import Condition, Pack
    from pytest_hush.plugin.options import Options
    from pytest_hush.protocols import Embedder, Judge, Memory, Model

FULL_CONTEXT_TOKENS = 24_000
"""Upper limit of the full-context budget (docs/reference/protocol.md)."""
MEMORY_MODEL = "openai/gpt-4o-mini"
PROMPT_ALLOWANCE = 256
"""Tokens kept for the neutral prompt and the longest probe (40 words, a system line, a chat template)."""


@functools.cache
def _embedder(folder: Path | None) -> Embedder:
    from pytest_hush.embed import cached_embedder, default_embedder

    inner = default_embedder()
    if folder is None:
        return inner
    return cached_embedder(inner, folder / "embeddings.sqlite")


def lazy_embedder(options: Options) -> functools.partial[Embedder]:
    """Makes the built-in embedder, its vectors kept beside the response cache, when it is first needed."""
    return functools.partial(_embedder, options.cache_folder if options.cache is not None else None)


def _model(spec: str, options: Options, base_url: str) -> Model:
    from pytest_hush.models import ModelSettings, resolve_model

    settings = ModelSettings(
        base_url=base_url or None,
        endpoints=options.endpoints,
        max_tokens=options.max_tokens,
        timeout_s=options.timeout,
        rootdir=str(options.rootpath),
    )
    return resolve_model(spec, settings=settings)


@pytest.hookimpl(trylast=True)
def pytest_hush_model(spec: str, options: Options) -> Model:
    return _model(spec, options, options.model_base_url)


@pytest.hookimpl(trylast=True)
def pytest_hush_memory(condition: Condition, pack: Pack, models: Mapping[str, Model], options: Options) -> Memory:
    from pytest_hush.memories import resolve_memory

    budgets = [FULL_CONTEXT_TOKENS]
    for model in models.values():
        window = getattr(model, "context_window", None)
        if window is not None:
            budgets.append(int(window) - int(getattr(model, "max_tokens", None) or 800) - PROMPT_ALLOWANCE)
    # The tightest model decides for all, so that every generator of a plan reads the same context.
    tightest = min(models.values(), key=lambda m: getattr(m, "context_window", None) or 1 << 30, default=None)
    return resolve_memory(
        condition,
        pack=pack,
        embedder=lazy_embedder(options),
        window=min(budgets),
        count_tokens=getattr(tightest, "count_tokens", None),
        settings=options.memory_settings,
        stores=options.cache_folder / "stores",
        memory_model=_memory_model(options, models),
    )


def _memory_model(options: Options, models: Mapping[str, Model]) -> Callable[[], Model] | None:
    """What makes the extraction model; None where none is named and none may be taken.

    The default is the model that the papers of Mem0 (arXiv 2504.19413) and A-Mem (arXiv 2502.12110) extract with. A
    demonstration run stays free of paid calls even on a machine that has a key.
    """
    spec = options.memory_model
    if not spec:
        real = not any(getattr(m, "demonstration", False) for m in models.values())
        spec = MEMORY_MODEL if real and models and os.environ.get("OPENAI_API_KEY") else ""
    return functools.partial(_model, spec, options, options.memory_base_url) if spec else None


@pytest.hookimpl(trylast=True)
def pytest_hush_judge(spec: str, options: Options) -> Judge:
    from pytest_hush.judges import resolve_judge
    from pytest_hush.plugin.judging import run_policy

    return resolve_judge(
        spec,
        policy=run_policy(options),
        embedder=lazy_embedder(options),
        model_resolver=lambda name: _model(name, options, options.judge_base_url),
    )


@pytest.hookimpl(trylast=True)
def pytest_hush_pack(spec: str, options: Options) -> Pack:
    from pytest_hush.packs import load_pack

    folder = options.rootpath / spec
    pack = load_pack(folder if spec and folder.is_dir() else spec)
    if options.background is None:
        return pack
    from pytest_hush.packs import plant_into, read_background

    return plant_into(pack, read_background(options.background, sensitive=options.background_sensitive))
