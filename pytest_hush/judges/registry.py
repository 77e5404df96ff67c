"""From the name of a judge to the judge: ``embedded``, ``python:module:attr``, or a model's ``provider/name``."""

from __future__ import annotations

from collections.abc import Callable

from pytest_hush.errors import UsageError
from pytest_hush.judges.policy import Policy
from pytest_hush.protocols import Embedder, Judge, Model


def resolve_judge(
    spec: str,
    *,
    embedder: Callable[[], Embedder],
    model_resolver: Callable[[str], Model],
    policy: Policy | None = None,
) -> Judge:
    """The judge called `spec` on the command line.

    Args:
        spec: ``embedded``; ``trace`` (reads the parrot alone); ``python:module:attr``; or ``provider/name``, a model
            that judges by the rubric (``local`` too, to see one at work).
        embedder: called once, at the first reply that needs sentence embeddings.
        model_resolver: makes the model of an LLM judge; its own errors pass through.
        policy: the norm that the judges of this package apply (None: ``conservative-1``). One of the user's own says
            itself which it applies.

    Raises:
        UsageError: none of these forms, or an attribute that cannot judge.
    """
    spec = spec.strip()
    if spec == "embedded":
        from pytest_hush.judges.embedded import EmbeddedJudge

        return EmbeddedJudge(embedder, policy)
    if spec == "trace":
        from pytest_hush.judges.trace import TraceJudge

        return TraceJudge()
    if spec.startswith("python:"):
        from pytest_hush.judges.python_callable import load_judge

        return load_judge(spec)
    if spec == "local" or ("/" in spec and not spec.startswith("/")):
        from pytest_hush.judges.llm import LLMJudge

        return LLMJudge(model_resolver(spec), spec, policy)
    raise UsageError(
        f"--hush-judge={spec!r}: no such judge. Expected 'embedded', 'python:module:attr', or a model "
        f"as 'provider/name' (for instance 'openai/gpt-4o')."
    )
