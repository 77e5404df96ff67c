"""Text of others made safe to print: no character of it can drive a terminal, reorder or hide what stands beside it."""

from __future__ import annotations

import unicodedata
from typing import Final

_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that show nothing: fillers, the blank of Braille, selectors that can carry hidden text.
_HIDDEN: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def visible(text: str) -> str:
    """`text` with control, bidirectional, zero-width and otherwise invisible characters as ``\\x1b`` or ``\\u202e``.

    Line breaks are escaped too: split `text` before where they are wanted.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if _hides(c) else c for c in text)


def _hides(character: str) -> bool:
    code = ord(character)
    return (
        unicodedata.category(character) in _HIDDEN_CATEGORIES
        or character in _HIDDEN
        or 0xFE00 <= code <= 0xFE0F
        or 0x180B <= code <= 0x180F
        or 0xE0000 <= code <= 0xE0FFF
    )


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
