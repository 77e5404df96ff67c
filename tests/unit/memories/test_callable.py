from __future__ import annotations

import asyncio
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_hush.errors import MemoryStoreError, UsageError
from pytest_hush.memories import exposure, resolve_memory, wrap_memory
from pytest_hush.memories.full_context import FullContext
from pytest_hush.memories.none import NoMemory
from pytest_hush.model import Condition, Context, Entry, digest
from pytest_hush.models.parrot import Parrot
from pytest_hush.protocols import Memory
from tests.unit.memories.histories import pack, planted

Load = Callable[..., Memory]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Load:
    """Write a user's module and resolve ``python:<module>:<attr>`` from it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"user_memory_{digest(request.node.nodeid, 12)}"

    def make(code: str, attribute: str = "memory", **settings: object) -> Memory:
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        monkeypatch.delitem(sys.modules, module, raising=False)
        name = f"python:{module}:{attribute}"
        return resolve_memory(
            Condition.parse(name), pack=pack(), embedder=lambda: pytest.fail("not asked"), settings={name: settings}
        )

    return make


def ask(memory: Memory) -> Context:
    found = memory.context(planted(), "bees?")
    if inspect.isawaitable(found):
        return asyncio.run(_await(found))
    return found


async def _await(found: object) -> Context:
    return await found  # type: ignore[misc,no-any-return]


def test_a_function_gets_sessions_and_question_and_may_return_texts(load: Load) -> None:
    memory = load("def memory(sessions, question):\n    return [f'{question} {len(sessions)}']")
    found = ask(memory)
    assert found.entries == (Entry("entry-1", "bees? 4", None),)
    assert exposure(found, planted()).exact is None
    assert memory.retrieving is True  # type: ignore[attr-defined]


def test_dicts_and_entries_carry_their_sources(load: Load) -> None:
    found = ask(
        load(
            """
            from pytest_hush.model import Entry
            def memory(sessions, question):
                return [
                    {"id": "x", "text": "kettle", "sources": ["p1-d1-s"], "date": "2025-02-24"},
                    Entry("y", "bees", ("p1-s1",), ("p1-s1-t01",)),
                ]
            """
        )
    )
    assert found.entries[0] == Entry("x", "kettle", ("p1-d1-s",), (), "2025-02-24")
    assert exposure(found, planted()).exact is True


def test_an_object_with_context_is_used_as_it_is(load: Load) -> None:
    memory = load(
        """
        from pytest_hush.model import Context, Entry
        class Store:
            name, version, retrieving = "mine", "7", False
            def __init__(self, top=1): self.settings = {"top": top}
            def context(self, history, question):
                return Context((Entry("a", history.persona.name, ()),), label="mine@7")
            def close(self): self.settings["closed"] = True
        """,
        "Store",
        top=3,
    )
    assert ask(memory) == Context((Entry("a", "Ada", ()),), label="mine@7")
    assert (memory.name, memory.version) == ("mine", "7")  # type: ignore[attr-defined]
    # A user's memory that calls itself a control is health-checked all the same.
    assert memory.retrieving is True  # type: ignore[attr-defined]
    assert memory.settings == {"top": 3}  # type: ignore[attr-defined]
    memory.close()  # type: ignore[attr-defined]
    assert memory.settings == {"top": 3, "closed": True}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "code",
    [
        "async def memory(sessions, question):\n    return ['a']",
        "class M:\n    async def context(self, history, question):\n        return ['a']\nmemory = M()",
        "class M:\n    async def __call__(self, sessions, question):\n        return ['a']\nmemory = M()",
    ],
)
def test_async_memories_are_coroutine_functions(load: Load, code: str) -> None:
    memory = load(code)
    assert inspect.iscoroutinefunction(memory.context)
    assert [e.text for e in ask(memory).entries] == ["a"]


def test_a_dotted_attribute_and_an_empty_answer(load: Load) -> None:
    memory = load("class A:\n    @staticmethod\n    def find(sessions, question):\n        return []", "A.find")
    assert ask(memory).entries == ()


def test_entries_past_the_fifth_are_left_out_with_a_note(load: Load) -> None:
    found = ask(load("def memory(sessions, question):\n    return [str(i) for i in range(12)]"))
    assert [e.text for e in found.entries] == ["0", "1", "2", "3", "4"]
    assert found.notes == ("memory returned 12 entries, the first 5 were rendered",)


def test_an_edited_module_is_another_version(load: Load) -> None:
    first = load("def memory(sessions, question):\n    return []").version  # type: ignore[attr-defined]
    again = load("def memory(sessions, question):\n    return []").version  # type: ignore[attr-defined]
    other = load("def memory(sessions, question):\n    return ['x']").version  # type: ignore[attr-defined]
    assert first == again != other
    assert first.startswith("sha256:")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return None", "returned a NoneType; expected a list"),
        ("return 'text'", "returned a str; expected a list"),
        ("return [3]", "entry 1 is a int; expected a text"),
        ("return [{'txt': 'a'}]", r"entry 1 is keys \['txt'\]"),
        ("return [{'text': 'a', 'source': 's'}]", r"keys \['source', 'text'\]"),
        ("return [{'text': 'a', 'sources': 'p1-s1'}]", "'sources' of entry 1 is 'p1-s1'; expected a list of ids"),
        ("return [{'text': 'a', 'sources': ['elsewhere']}]", "names the source 'elsewhere', which is no session"),
        ("raise KeyError('user_id')", r"its code raised KeyError at user_memory_\w+\.py:2: 'user_id'"),
        (
            "return (1 / 0 for _ in 'a')",
            r"raised ZeroDivisionError at user_memory_\w+\.py:2: division by zero",
        ),
    ],
)
def test_a_wrong_answer_is_an_infrastructure_failure_that_says_what_was_expected(
    load: Load, body: str, message: str
) -> None:
    for prefix in ("", "async "):
        with pytest.raises(MemoryStoreError, match=message):
            ask(load(f"{prefix}def memory(sessions, question):\n    {body}"))


@pytest.mark.parametrize(
    ("code", "attribute", "message"),
    [
        ("x = 1", "memory", "has no attribute 'memory'"),
        ("memory = 3", "memory", "a int is no memory"),
        ("import no_such_library", "memory", "importing .* failed with .*no_such_library"),
        ("class memory:\n    def __init__(self, path): pass", "memory", "failed with TypeError"),
        ("class memory:\n    pass", "memory", "a memory is no memory"),
    ],
)
def test_what_cannot_be_loaded_is_a_usage_error(load: Load, code: str, attribute: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(code, attribute)


def test_only_a_version_of_the_users_own_lets_answers_outlive_the_process(load: Load) -> None:
    assert load("def memory(sessions, question):\n    return []").cacheable is False  # type: ignore[attr-defined]
    versioned = "def memory(sessions, question):\n    return []\nmemory.version = '3'"
    assert load(versioned).cacheable is True  # type: ignore[attr-defined]
    assert load(versioned + "\nmemory.cacheable = False").cacheable is False  # type: ignore[attr-defined]


def test_a_fixtures_value_is_wrapped_once_and_built_in_memories_are_left_alone() -> None:
    wrapped = wrap_memory(lambda sessions, question: [sessions[0].id], name="custom")
    assert (wrapped.name, ask(wrapped).label) == ("custom", "custom")  # type: ignore[attr-defined]
    assert wrap_memory(wrapped, name="other") is wrapped
    full = FullContext(3584)
    assert wrap_memory(full, name="custom") is full


def test_a_context_of_more_than_five_entries_is_taken_as_it_is() -> None:
    given = Context(tuple(Entry(f"e{i}", "text", ()) for i in range(9)), notes=("mine",))
    found = ask(wrap_memory(lambda sessions, question: given, name="custom"))
    assert found == replace(given, label="custom")


def test_the_memory_behind_a_users_guard_is_wrapped_too() -> None:
    class Guard:
        def inner(self, sessions: object, question: str) -> list[str]:
            return ["behind"]

        def context(self, history: object, question: str) -> list[str]:
            return []

    wrapped = wrap_memory(Guard(), name="guarded")
    assert ask(wrapped).entries == ()
    assert [e.text for e in ask(wrapped.inner).entries] == ["behind"]  # type: ignore[attr-defined]


def test_the_words_of_a_users_exception_hold_no_secret_and_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_PASSWORD", "zq-store-SECRET")

    def lost(sessions: object, question: str) -> list[str]:
        raise OSError("no user zq-store-SECRET \ud800" + "x" * 900)

    with pytest.raises(MemoryStoreError, match=r"OSError at test_callable\.py:\d+: no user <secret>") as caught:
        ask(wrap_memory(lost, name="custom"))
    assert len(str(caught.value)) < 300
    str(caught.value).encode()


def test_a_users_class_derived_from_a_built_in_one_is_checked_like_any_other() -> None:
    class Dead(NoMemory):
        version, in_flight, cacheable = "2", 3, None  # type: ignore[misc]

    wrapped = wrap_memory(Dead(), name="spec")
    assert (wrapped.name, wrapped.version, wrapped.retrieving) == ("none", "2", True)  # type: ignore[attr-defined]
    assert (wrapped.in_flight, wrapped.cacheable) == (3, True)  # type: ignore[attr-defined]
    del Dead.version
    # What it inherits says nothing of the code that was added.
    assert wrap_memory(Dead(), name="spec").cacheable is False  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [3, "text", dict, None, Parrot(1.0, "parrot/1")])
def test_what_is_no_memory_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"memory custom: .* is no memory. Expected an object with context"):
        wrap_memory(value, name="custom")


def test_a_function_takes_no_settings(load: Load) -> None:
    with pytest.raises(UsageError, match=r"settings \['top'\] were given, but only a class takes them"):
        load("def memory(sessions, question):\n    return []", top=3)


@pytest.mark.parametrize("name", ["python:", "python:mod", "python:mod:", "python::attr", "python:a:b:c"])
def test_a_malformed_name_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="expected python:module:attr"):
        resolve_memory(Condition.parse(name), pack=pack(), embedder=lambda: pytest.fail("not asked"))
