"""What one set of settings comes to: labeller, reader of turns, and what names them in a record."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_hush.errors import MissingExtraError
from pytest_hush.guard.labels import Labeller
from pytest_hush.guard.lexicon import Lexicon, Phrases, load_lexicon, load_phrases
from pytest_hush.guard.likeness import Likeness
from pytest_hush.guard.settings import GuardSettings
from pytest_hush.guard.warrant import WarrantReader
from pytest_hush.protocols import Embedder


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The parts of a guard that settings decide. `likeness` is None where no embeddings are used."""

    settings: GuardSettings
    lexicon: Lexicon
    phrases: Phrases
    likeness: Likeness | None
    labeller: Labeller
    warrants: WarrantReader

    def as_json(self) -> Mapping[str, Any]:
        """All that decides: settings, the two files by hash, and the embeddings or ``none``."""
        return {
            **self.settings.as_json(),
            "lexicon": self.lexicon.id,
            "phrases": self.phrases.id,
            "embedder": self.likeness.build if self.likeness is not None else "none",
        }


def rules_for(settings: GuardSettings, embedder: Callable[[], Embedder] | None = None) -> Rules:
    """The rules of `settings`. `embedder` makes the embeddings; None: the built-in ones, where they are installed.

    Raises `UsageError` for a language without a lexicon.
    """
    if embedder is None:
        return _built_in(settings)
    return _made(settings, embedder)


@functools.lru_cache(maxsize=8)
def _built_in(settings: GuardSettings) -> Rules:
    from pytest_hush.embed import default_embedder

    return _made(settings, default_embedder)


def _made(settings: GuardSettings, embedder: Callable[[], Embedder]) -> Rules:
    lexicon, phrases = load_lexicon(settings.language), load_phrases(settings.language)
    likeness = None
    if settings.embeddings:
        try:
            likeness = Likeness(embedder(), lexicon, phrases)
        except MissingExtraError:
            likeness = None  # the rules alone decide, and `as_json` says so
    labeller = Labeller(lexicon, settings, likeness)
    return Rules(settings, lexicon, phrases, likeness, labeller, WarrantReader(labeller, phrases, settings, likeness))
