"""Sentence embeddings: one protocol (`protocols.Embedder`), one built-in model that needs no key and no network.

Importing this room costs the standard library; numpy and onnxruntime are met when an embedder is asked for.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_hush.protocols import Embedder

if TYPE_CHECKING:
    from pytest_hush.embed.disk import CachedEmbedder

__all__ = ["cached_embedder", "default_embedder"]


@functools.cache
def default_embedder() -> Embedder:
    """The built-in embedder: all-MiniLM-L6-v2 as int8, 384 dimensions, one object a process.

    The weights are read and checked at the first `embed`. Raises `MissingExtraError` with the install line at
    once when a library is absent, so that a run fails before it calls anything.
    """
    from pytest_hush.embed.minilm import MiniLM

    return cast(Embedder, MiniLM())  # a float32 array is no typing.Sequence, though it serves as one


def cached_embedder(inner: Embedder, path: str | Path) -> CachedEmbedder:
    """`inner` with its vectors kept in the SQLite file `path`, shared by workers and later runs."""
    from pytest_hush.embed.disk import CachedEmbedder

    return CachedEmbedder(inner, path)
