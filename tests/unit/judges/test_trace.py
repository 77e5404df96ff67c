"""The test judge that knows the truth: what the parrot says that it used is what it was shown and what it notes."""

from __future__ import annotations

import pytest

from pytest_hush.errors import UnreadableJudgement, UsageError
from pytest_hush.judges import judge_view, resolve_judge
from pytest_hush.judges.trace import VALUES, TraceJudge, read_trace
from pytest_hush.model import Case, Condition, Entry, Pack, Prompt
from pytest_hush.models.parrot import Parrot
from pytest_hush.packs import load_pack, plant
from pytest_hush.plugin.judging import check_readable
from pytest_hush.run.prompt import build_prompt


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_pack("starter")


def entries_of(pack: Pack, number: int) -> tuple[Entry, ...]:
    """The disclosing turn of one disclosure and, for odd numbers, two everyday turns before it."""
    d = pack.disclosures[number]
    history = plant(pack, d)
    turns = [(s, t) for s in history.sessions for t in s.turns]
    told = [(s, t) for s, t in turns if t.id == d.turn_id]
    rest = [(s, t) for s, t in turns if s.id != d.session_id][number : number + 2] if number % 2 else []
    return tuple(Entry(t.id, f"{t.speaker}: {t.text}", (s.id,), (t.id,), s.date) for s, t in (*rest, *told))


def test_every_reply_of_the_parrot_is_read_as_it_was_made(pack: Pack) -> None:
    judge, seen = TraceJudge(), set()
    for number, d in enumerate(pack.disclosures):
        probe = next(p for p in pack.probes if p.disclosure == d.id)
        entries = entries_of(pack, number)
        for seed in range(6):
            prompt: Prompt = build_prompt(probe.text, "\n".join(e.text for e in entries), entries, seed=seed)
            reply = Parrot(0.7).reply(prompt)
            used = [note for note in reply.notes if "used entry" in note]
            manner = used[0].rpartition("=")[2] if used else ""
            target = any(f"used entry {d.turn_id} " in note for note in used)
            case = Case("probe", probe.id, probe.text, d.persona, Condition.parse("vector"), "parrot", d.id)
            persona = next(p for p in pack.personas if p.id == d.persona)
            found = judge.judge(judge_view(case, probe, reply.text, d, persona, pack))
            assert found.v == VALUES.get(manner, 0.0), reply.text
            assert found.over_scope == found.v
            if manner != "hint":  # four words of an entry may be those of another one, too
                assert found.target_uptake == (found.v if target else 0.0), reply.text
            seen.add(manner)
    assert seen == {"", *VALUES}


def test_an_invited_turn_has_no_v_and_only_what_is_not_the_disclosure_is_beyond_it(pack: Pack) -> None:
    d = pack.disclosures[0]
    probe = next(p for p in pack.probes if p.disclosure == d.id)
    persona = next(p for p in pack.personas if p.id == d.persona)
    told = next(t.text for t in d.turns if t.id == d.turn_id)
    case = Case("probe", probe.id, probe.text, d.persona, Condition.parse("oracle"), "parrot", d.id, invited=True)
    plain = "Here is a simple way to go about tea, cups, pots."

    def judged(woven: str) -> tuple[float | None, float, float]:
        j = TraceJudge().judge(judge_view(case, probe, f"{woven} {plain}", d, persona, pack))
        return j.v, j.target_uptake, j.over_scope

    assert judged(f'You told me: "{told}."') == (None, 1.0, 0.0)
    assert judged(f'You told me: "{told}." "I like quiet, green lamps."') == (None, 1.0, 1.0)
    assert judged("Given what you told me (I like quiet green lamps), here is what I would do.") == (None, 0.0, 0.75)


def test_quotes_and_line_ends_in_an_entry_do_not_hide_it() -> None:
    plain = " A few practical ideas for tea, cups, pots."
    found = read_trace(f'You told me: "She said "no", twice." "And\nleft."{plain}')
    assert found is not None
    assert (found.manner, found.excerpts) == ("verbatim", ('She said "no", twice', "And\nleft"))
    assert read_trace("As you are in debt, go gently.") is None


def test_another_models_reply_is_unreadable_and_never_silent(pack: Pack) -> None:
    d = pack.disclosures[0]
    probe = next(p for p in pack.probes if p.disclosure == d.id)
    case = Case("probe", probe.id, probe.text, d.persona, Condition.parse("oracle"), "openai/x", d.id)
    view = judge_view(case, probe, "Try chamomile.", d, pack.personas[0], pack)
    with pytest.raises(UnreadableJudgement, match="reads the parrot's own wording"):
        TraceJudge().judge(view)


def test_it_is_named_on_the_command_line_and_refused_with_other_generators() -> None:
    judge = resolve_judge("trace", embedder=lambda: pytest.fail("none"), model_resolver=lambda n: pytest.fail("none"))
    assert isinstance(judge, TraceJudge)
    check_readable({"trace": judge}, ["parrot/0.8", "parrot"])
    with pytest.raises(
        UsageError, match="--hush-judge=trace: it reads the replies of parrot alone, and the plan has local"
    ):
        check_readable({"trace": judge}, ["parrot/0.8", "local"])
