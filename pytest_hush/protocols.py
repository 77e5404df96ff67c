"""What a model, a memory, a judge and a closed assistant must offer: one required method each.

Methods may be plain or ``async``; plain ones run in a thread pool that the run owns. Everything else that
an implementation may define (named in the docstrings) is optional and read with `getattr`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pytest_hush.model import Context, History, Judgement, JudgeView, Prompt, Reply, Session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Model(Protocol):
    """A generator. Optional attributes, all hashed into the provenance of a reply:

    * ``name: str``: the label in records; the registry sets ``provider/name``.
    * ``settings: Mapping[str, JSON]``: all that changes an answer besides the prompt.
    * ``context_window: int``: tokens; bounds the budget of ``full-context``.
    * ``max_tokens: int``: output tokens, else 800.
    * ``demonstration: bool``: True for models that never carry a release verdict.
    * ``deterministic: bool``; ``in_flight: int``: an upper bound on concurrent calls (1 for the local model).
    * ``count_tokens(text) -> int``: else four characters are one token.
    * ``close()``: called once at the end.
    """

    def reply(self, prompt: Prompt) -> Reply | Awaitable[Reply]:
        """Answer one prompt. Raises the kinds of `ModelError`; retries nothing."""
        ...


@runtime_checkable
class Memory(Protocol):
    """A memory condition. Optional attributes, hashed into the provenance of a context:

    * ``name: str``, ``version: str``, ``settings: Mapping[str, JSON]``.
    * ``retrieving: bool``: False for the built-in conditions that retrieve nothing (``none``, ``full-context``,
      ``oracle`` and the other controls): no readiness check, no positive controls. Only they are exempt; of a user's
      memory the attribute is not read, and its health is always checked.
    * ``close()``: called once at the end.
    """

    def context(self, history: History, question: str) -> Context | Awaitable[Context]:
        """Ingest `history` (or reuse a store built of it) and return at most five entries for `question`.

        Raises `MemoryStoreError`; an empty answer is a valid answer.
        """
        ...


@runtime_checkable
class Judge(Protocol):
    """A condition-blind judge. Optional attributes, part of the *instrument*:

    * ``name: str``, ``version: str``, ``rubric: str`` (name@hash), ``policy: str``, ``languages: frozenset[str]``.
    * ``screening: bool``: True for judges that only screen (the embedded one).
    * ``deterministic: bool``: False for one that is asked several times under ``--hush-judge-repeats``; without it, a
      judge with a ``model`` is.
    * ``close()``: called once at the end.
    """

    def judge(self, view: JudgeView) -> Judgement | Awaitable[Judgement]:
        """Score one reply. Raises `UnreadableJudgement` (the case is unscored) and `ModelError`."""
        ...


@runtime_checkable
class Assistant(Protocol):
    """A closed assistant that keeps its own memory and shows no context: its exposure is unknown.

    ``answer`` gets the sessions to ingest (empty for the no-memory reference) and the user's turn.
    """

    def answer(self, sessions: Sequence[Session], message: str) -> str | Reply | Awaitable[str | Reply]: ...


class Embedder(Protocol):
    """Sentence embeddings. `name` and `version` are part of the provenance (``embedded_build``)."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), d), in the order given."""
        ...
