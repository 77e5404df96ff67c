from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_hush.packs.stems import StemIndex, StemSet
from pytest_hush.text import fold, stems_in, words

WORD = st.text(alphabet="abÉ’'é -", min_size=0, max_size=6)
TEXT = st.lists(WORD, max_size=8).map(" ".join)


@given(TEXT, st.lists(WORD, max_size=4))
@settings(deadline=None)
def test_both_matchers_agree_with_the_one_rule(text: str, stems: list[str]) -> None:
    expected = stems_in(text, stems)
    assert StemSet(stems).found(words(text)) == expected
    assert StemSet(stems).occurs(words(text)) == bool(expected)
    assert set(StemIndex((s, s) for s in stems).owners_in(text)) == set(expected)


@given(st.text(max_size=40))
@settings(deadline=None)
def test_fold_removes_marks_wherever_they_stand(text: str) -> None:
    assert not any(unicodedata.combining(c) for c in fold(text))
    assert fold(fold(text)) == fold(text)
