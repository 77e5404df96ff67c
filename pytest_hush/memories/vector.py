"""``vector``: the transparent control: the turns of the history nearest to the question by plain embedding."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_hush.memories.render import line
from pytest_hush.model import Context, Entry, History, Session
from pytest_hush.protocols import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOP_K: Final = 5
_CACHED_SESSIONS: Final = 2048


class VectorMemory:
    """The `top_k` turns of highest cosine to the question, over all turns, the planted session's included.

    Vectors are kept by session, so the forks of one base embed its turns once. Thread-safe. Cosines are
    rounded to six digits before they are ranked and ties go to the earlier turn: the order is the same on
    every machine with the same weights.
    """

    name: Final = "vector"
    version: Final = "1"
    retrieving: Final = True
    in_flight: Final = 4
    """Questions at once: embedding leaves the interpreter lock, so cores are used."""

    def __init__(self, embedder: Embedder, top_k: int = TOP_K) -> None:
        self._embedder = embedder
        self._top_k = top_k
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, ...], NDArray[np.float32]] = OrderedDict()

    @property
    def settings(self) -> Mapping[str, Any]:
        version = getattr(self._embedder, "version", "")
        return {"top_k": self._top_k, "embedder": f"{self._embedder.name}@{version}"}

    def context(self, history: History, question: str) -> Context:
        """At most `top_k` entries, best first: a turn each, with its id, its session as source, and its date."""
        import numpy as np

        turns = [(session, turn) for session in history.sessions for turn in session.turns]
        if not turns:
            return Context(label=self.name)
        asked = np.asarray(self._embedder.embed([question]), dtype=np.float64)[0]
        rows = [self._matrix(session) for session in history.sessions if session.turns]
        scores = np.round(np.concatenate([row.astype(np.float64) @ asked for row in rows]), 6)
        best = np.argsort(-scores, kind="stable")[: self._top_k]
        return Context(
            tuple(
                Entry(turn.id, line(turn), (session.id,), (turn.id,), session.date)
                for session, turn in (turns[int(i)] for i in best)
            ),
            label=self.name,
        )

    def _matrix(self, session: Session) -> NDArray[np.float32]:
        """The vectors of a session's turns, shape (turns, d)."""
        import numpy as np

        texts = tuple(" ".join(turn.text.split()) for turn in session.turns)
        with self._lock:
            if (hit := self._sessions.get(texts)) is not None:
                self._sessions.move_to_end(texts)
                return hit
        rows: NDArray[np.float32] = np.asarray(self._embedder.embed(texts), dtype=np.float32)
        with self._lock:
            self._sessions[texts] = rows
            if len(self._sessions) > _CACHED_SESSIONS:
                self._sessions.popitem(last=False)
        return rows
