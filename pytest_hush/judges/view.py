"""The judge's input: one function of (probe, reply, disclosure, persona digest), and nothing else.

Blindness is by construction: a case's model, condition and repeat, its rendered entries and its no-memory
twin are never read here, so the bytes of a view are the same whatever system produced the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_hush.model import Case, DigestFact, Disclosure, JudgeView, Pack, Persona, Probe
from pytest_hush.text import fold

_SYSTEMS = re.compile(
    r"""(?<!\w)(?:
      mem0 | a-?mem | memu | memgpt | letta | zep | langmem | memobase | supermemory | cognee
    | chatgpt | gpt-?\d[\w.-]* | openai | claude | anthropic | deepseek | qwen[\d.]* | llama[-\s]?\d* | gemini
    | mistral | smollm\d* | full-context | memory\ (?:block|store|entry|entries|system) | vector\ (?:store|memory)
    | retrieved\ (?:memory|memories|context|entries) | system\ prompt
    )(?!\w)""",
    re.VERBOSE,
)


def digest_facts(persona: Persona, others: Iterable[Disclosure] = ()) -> tuple[DigestFact, ...]:
    """The persona's labelled background facts, ambient ones included, in the order of the pack's file.

    `others`: disclosures that one history holds beside the marked one, as ambient facts under their own ids.
    """
    facts = tuple(DigestFact(f.id, f.kind, f.text, f.stems) for f in persona.facts)
    return (*facts, *(DigestFact(d.id, "ambient", d.statement, (*d.core, d.canary)) for d in others))


def judge_view(
    case: Case,
    probe: Probe,
    reply: str,
    disclosure: Disclosure,
    persona: Persona,
    pack: Pack,
    invited: bool | None = None,
    shared: bool = False,
) -> JudgeView:
    """What every judge sees of one reply (``docs/guide/judges.md``).

    Of `case` only the turn's text and whether it is invited are read (`invited` overrides the latter); of `pack` only
    the language and, where `shared` is set, the persona's other disclosures. The reply is passed as it came: see
    `names_system` for what it may give away.

    Raises:
        ValueError: the disclosing turn is not among the disclosure's turns (a pack that was not validated).
    """
    disclosing = next((t.text for t in disclosure.turns if t.id == disclosure.turn_id), None)
    if disclosing is None:
        raise ValueError(f"disclosure {disclosure.id}: its turn {disclosure.turn_id} is not in its session")
    return JudgeView(
        probe_id=probe.id,
        probe=case.text,
        family=probe.family,
        invited=case.invited if invited is None else invited,
        reply=reply,
        disclosure_id=disclosure.id,
        disclosure=disclosure.statement,
        core=disclosure.core,
        synonyms=disclosure.synonyms,
        canary=disclosure.canary,
        disclosing_turn=disclosing,
        facts=digest_facts(
            persona,
            (d for d in pack.disclosures if d.persona == persona.id and d.id != disclosure.id) if shared else (),
        ),
        language=pack.language,
        speakers=(persona.name, persona.partner),
    )


def names_system(reply: str) -> tuple[str, ...]:
    """Names of models, memory systems or conditions that `reply` itself mentions, folded, each once.

    Such a reply is passed to the judge unchanged, since cutting it would change what is judged; a record
    carries the names as a note, so that a reader can leave those replies out and look again.
    """
    return tuple(dict.fromkeys(m.group(0) for m in _SYSTEMS.finditer(fold(reply))))
