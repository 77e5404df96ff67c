"""The two conditions that show nothing: no memory, and a closed assistant whose memory nobody sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_hush.model import Context, History


class NoMemory:
    """``none``: the matched reference of every plan."""

    name: Final = "none"
    version: Final = "1"
    retrieving: Final = False

    @property
    def settings(self) -> Mapping[str, Any]:
        return {}

    def context(self, history: History, question: str) -> Context:  # noqa: ARG002 - the protocol's shape
        """No entries, whatever is asked."""
        return Context(label=self.name)


class ClosedAssistant:
    """``assistant``: the run lets the assistant ingest and answer itself; its context, and so E, is unknown.

    It counts as retrieving: a positive control that its *reply* answers is the only sign that its memory lives.
    """

    name: Final = "assistant"
    version: Final = "1"
    retrieving: Final = True

    @property
    def settings(self) -> Mapping[str, Any]:
        return {}

    def context(self, history: History, question: str) -> Context:  # noqa: ARG002 - the protocol's shape
        """An unknown context: no flag of it is ever read as 0."""
        return Context(known=False, label=self.name)
