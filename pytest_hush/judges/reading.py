"""Reading a reply as a person would: disguises undone, cut into sentences, its language recognised."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_hush.judges.cues import Cues
from pytest_hush.text import fold, words

_END: Final = re.compile(
    r"(?:(?<=[.!?…。！？])|(?<=[.!?…。！？][\"'”’)\]*_]))\s+|\s*[\n\r\u2028\u2029]+\s*",
)
_ABBREVIATION: Final = re.compile(r"\b(?:dr|mr|mrs|ms|st|prof|vs|no|e\.g|i\.e)\.$", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"\s*[,;:()—–]\s+|\s+[-—–]\s+|\s*[,;:()—–]\s*$")
_SPELLED: Final = re.compile(r"(?<![^\W_])[^\W\d_]([\s.\-_*·|/])[^\W\d_](?:\1[^\W\d_]){2,}(?![^\W_])(?:\1(?![^\W_]))?")
_MARKUP: Final = re.compile(r"[*_|`~^]+|(?<=[^\W_])·+(?=[^\W_])")
_HTML: Final = re.compile(r"<!--|-->|</?[A-Za-z][^<>]*>")
_QUOTE: Final = re.compile(r"^\s*(?:>\s*)+")
_LEET: Final = str.maketrans("013457@$", "oieastas")
_MIXED: Final = re.compile(r"(?<![^\W_])(?=[^\W_]*[013457@$])(?=[\d@$]*[^\W\d_])[^\s.,;:!?]+")
# Of bounded length: from every letter of a long run of them an open one would read to its end.
_ADDRESS: Final = re.compile(r"(?<!\w)\w{1,20}://\S+")
_BLOB: Final = re.compile(r"(?<!\w)(?:[A-Za-z0-9+/_-]{40,}={0,2}|(?:[0-9a-fA-F]{2}[\s:]?){24,})")
_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕԁһӏкмтвнгпαοεικνρτυχАЕОРСУХІЈЅКМТВНΑΟΕΙΚΝΡΤΥΧΒΗΜΖ",
    "aeopcyxijsdhlkmtbhrnaoeiknptuxAEOPCYXIJSKMTBHAOEIKNPTYXBHMZ",
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a text: as it stands (`raw`, quotable), as read (`text`), and its folded `words`."""

    raw: str
    text: str
    words: tuple[str, ...]

    @property
    def joined(self) -> str:
        return " ".join(self.words)


def readable(text: str) -> str:
    """`text` without what a reader does not see or is meant to trip over: invisible and format characters,
    look-alike letters of other scripts inside Latin words, s-p-e-l-l-e-d words, digits for letters."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if c in "\n\r\t" or not _unseen(c))
    # What stands in a comment, a tag or a quotation still stands in the reply.
    text = _QUOTE.sub("", _HTML.sub(" ", text))
    mixed = len(_MIXED.findall(text))
    if mixed >= 3 and 10 * mixed >= 3 * len(text.split()):
        text = text.translate(_LEET)  # as a whole: most of a word may be digits
    text = re.sub(r"[^\W_]+(?:[^\w\s]?[^\W_]+)*", lambda m: _one_script(m.group()), text)
    text = _SPELLED.sub(lambda m: "".join(c for c in m.group() if c.isalpha()), text)
    return _MARKUP.sub("", text)


def _unseen(char: str) -> bool:
    category = unicodedata.category(char)
    return category in {"Cf", "Cc", "Co", "Cn"} or 0xFE00 <= ord(char) <= 0xFE0F or char in "\u115f\u1160\u3164\u034f"


def _one_script(word: str) -> str:
    if not word.isascii() and any("a" <= c <= "z" for c in word.lower()):
        word = word.translate(_LOOKALIKES)
    letters = sum(c.isalpha() for c in word)
    inside = letters >= 2 and re.search(r"[^\W\d_][013457@$][^\W\d_]", word)
    digits = inside or (letters >= 3 and re.search(r"[^\W\d_][013457@$]|[013457@$][^\W\d_]{2}", word))
    # A number with a unit (20th, 5km) keeps its digits: they stand first and the letters are few.
    if digits and letters > len(word) / 2 and not re.fullmatch(r"\d+[^\W\d_]{1,4}", word):
        word = word.translate(_LEET)
    return word


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences and list lines of `text` that hold a word, in order."""
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(text):
        piece = text[start : match.start()]
        if "\n" not in match.group() and _ABBREVIATION.search(piece):
            continue
        pieces.append(piece)
        start = match.end()
    pieces.append(text[start:])
    made = []
    for piece in pieces:
        clean = readable(piece).strip()
        found = tuple(words(clean))
        if found:
            made.append(Sentence(piece.strip(), clean, found))
    return tuple(made)


def clauses(sentence: str, at_least: int = 4) -> tuple[str, ...]:
    """The sentence's clauses of `at_least` words or more, the whole sentence first."""
    whole = sentence.strip()
    parts = [p.strip() for p in _CLAUSE.split(whole) if len(p.split()) >= at_least]
    return tuple(dict.fromkeys([whole, *parts]))


def is_foreign(sentence: Sentence, cues: Cues) -> bool:
    """True when the sentence is positively in another language: another script, or foreign function words
    outnumbering English ones. A list of names or nouns is not foreign."""
    letters = [c for c in sentence.text if c.isalpha()]
    if len(letters) >= 4 and sum(not _latin(c) for c in letters) > len(letters) / 2:
        return True
    foreign = sum(w in cues.foreign for w in sentence.words)
    english = sum(w in cues.function for w in sentence.words)
    return foreign >= 2 and foreign > english


def _latin(char: str) -> bool:
    return char.isascii() or "LATIN" in unicodedata.name(char, "")


def is_encoded(text: str, cues: Cues) -> bool:
    """True when more than a third of `text` is base64 or hexadecimal, or when it reads as English only backwards or
    turned by thirteen letters. Whatever it says then cannot be seen in its words."""
    text = _ADDRESS.sub(" ", text)
    if 3 * sum(len(m.group()) for m in _BLOB.finditer(text)) > len(text.strip()):
        return True
    found = words(text)
    if len(found) < 6:
        return False
    own = _english(found, cues)
    ways = (words(text[::-1]), words(codecs.encode(text, "rot13")))
    return any(_english(other, cues) >= own + 0.2 for other in ways)


def _english(found: Sequence[str], cues: Cues) -> float:
    """The share of English function words; running text has about 0.4."""
    return sum(w in cues.function for w in found) / max(1, len(found))


def content_words(found: Iterable[str], cues: Cues) -> set[str]:
    """Those of the folded words that carry meaning: no function words, two letters or more."""
    return {w for w in found if len(w) > 1 and w not in cues.function}


def proper_names(text: str, cues: Cues) -> set[str]:
    """Folded capitalised words of `text` that stand inside a sentence and are no form of address.

    A word that only starts a sentence, or stands between commas or at the end behind one ("died, Juno,"), is
    left out: the first may be any word, the second names the listener.
    """
    found = set()
    for sentence in sentences(text):
        for match in re.finditer(r"(?<=[\w,;'’\"“”(—–-])\s+([A-Z][\w'’-]+)", sentence.text):
            before, after = sentence.text[: match.start()], sentence.text[match.end() :]
            if before.rstrip().endswith(",") and re.match(r"\s*(?:[,.!?]|$)", after):
                continue
            name = fold(match.group(1)).removesuffix("'s").removesuffix("’s")
            if len(name) > 2 and name not in cues.not_names:
                found.add(name)
    return found
