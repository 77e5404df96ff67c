from __future__ import annotations

from pytest_hush.model import Entry
from pytest_hush.run import PROMPTS, build_prompt
from pytest_hush.run.prompt import HASH, boundary, prompts


def test_only_the_memory_block_differs() -> None:
    bare = build_prompt("What goes with rice?", "")
    entries = (Entry("e1", "Mara likes plums.", ("s1",)),)
    full = build_prompt("What goes with rice?", "- Mara likes plums.", entries)
    assert bare.messages[0] == full.messages[0]
    assert bare.messages[1].content == "What goes with rice?"
    assert full.messages[1].content.endswith("\n\nWhat goes with rice?")
    assert "- Mara likes plums." in full.messages[1].content
    assert (full.entries, bare.entries) == (entries, ())


def test_a_brace_in_memory_or_message_is_only_text() -> None:
    prompt = build_prompt("{memory} {0}", "{message} {}")
    assert prompt.messages[1].content.endswith("{memory} {0}")
    assert "{message} {}" in prompt.messages[1].content


def test_the_template_is_pinned() -> None:
    """A changed word changes what is measured: give the template a new name with it."""
    assert f"neutral-1@{HASH}" == PROMPTS
    assert HASH == "6f42917d38f5"


def test_the_boundary_policy_changes_the_system_turn_alone() -> None:
    plain, told = (build_prompt("Which soup?", "- a note", with_boundary=b) for b in (False, True))
    assert told.messages[1:] == plain.messages[1:]
    assert told.messages[0].content.startswith(plain.messages[0].content)
    assert boundary() in told.messages[0].content
    assert "boundary-1@" in prompts(with_boundary=True)
    assert prompts(with_boundary=False) == PROMPTS
