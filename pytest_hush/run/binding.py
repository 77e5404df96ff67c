"""What answers for the names of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_hush.errors import UsageError
from pytest_hush.model import Case, Condition
from pytest_hush.protocols import Assistant, Judge, Memory, Model


@dataclass(frozen=True, slots=True)
class Binding:
    """Models by name, memories by condition name, the judges (the first one's scores are the case's), and the
    closed assistant, if one is measured.

    `per_model` holds memories that differ by model, keyed (model, condition): ``full-context`` where windows do.
    `policy` (``name@hash``) is what the run was told to measure; judges that name their own go before it.
    """

    models: Mapping[str, Model]
    memories: Mapping[str, Memory]
    judges: tuple[Judge, ...]
    assistant: Assistant | None = None
    per_model: Mapping[tuple[str, str], Memory] = field(default_factory=dict)
    policy: str = ""

    def memory(self, model: str, condition: str) -> Memory | None:
        """The memory for this pair, or None when nothing is bound to the condition."""
        return self.per_model.get((model, condition)) or self.memories.get(condition)

    @property
    def shared(self) -> bool:
        """True where a condition has all disclosures of a persona in one history: then the judges are told of all."""
        return any(Condition.parse(name).shared for name in self.memories)

    @property
    def closed(self) -> bool:
        """True when this run measures the closed assistant: the ``assistant`` condition is bound and it is there."""
        return self.assistant is not None and any(Condition.parse(n).base == "assistant" for n in self.memories)

    def asks_assistant(self, case: Case) -> bool:
        """True when the closed assistant answers `case`: under its own condition, and for its ``none`` reference."""
        return self.closed and case.condition.base in ("assistant", "none")

    def check(self) -> None:
        """Raises `UsageError` for a run that mixes the closed assistant with memories around a model.

        Both would need a no-memory reference of their own under the one name ``none``.
        """
        others = [n for n in self.memories if Condition.parse(n).base not in ("assistant", "none")]
        if self.closed and others:
            raise UsageError(
                f"--hush-memory=assistant measures a closed assistant, which is its own no-memory reference; it cannot "
                f"share a run with {others[0]!r}. Measure them in two runs."
            )
