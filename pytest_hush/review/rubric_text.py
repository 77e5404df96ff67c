"""A rubric file as blocks that a page can show: headings, paragraphs, lists and tables of Markdown, and no more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Span = tuple[Literal["", "code", "strong"], str]
_SPAN: Final = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_ITEM: Final = re.compile(r"(?:\d+\.|[-*])\s+")


@dataclass(frozen=True, slots=True)
class Block:
    """One block. A heading or paragraph has one row of one cell, a list one cell a row; a table its head first."""

    kind: Literal["h2", "h3", "p", "list", "table"]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]


def blocks(markdown: str) -> list[Block]:
    """The blocks of `markdown` in order. What is not one of the known kinds is shown as a paragraph."""
    found: list[Block] = []
    for chunk in re.split(r"\n[ \t]*\n|\n(?=#)|(?<=\|)\n(?!\|)|(?<!\|)\n(?=\|)", markdown.strip()):
        head, _, rest = chunk.partition("\n")
        if head.startswith("#"):
            level = len(head) - len(head.lstrip("#"))
            found.append(_text("h2" if level == 1 else "h3", head.lstrip("#")))
            found += blocks(rest) if rest.strip() else []
        elif head.startswith("|"):
            rows = [_cells(line) for line in chunk.split("\n")]
            found.append(Block("table", tuple(r for r in rows if not _rule(r))))
        elif _ITEM.match(head):
            items: list[str] = []
            for line in chunk.split("\n"):
                if _ITEM.match(line):
                    items.append(_ITEM.sub("", line, count=1))
                else:
                    items[-1] += f" {line.strip()}"
            found.append(Block("list", tuple((_spans(i),) for i in items)))
        elif chunk.strip():
            found.append(_text("p", chunk))
    return found


def _text(kind: Literal["h2", "h3", "p"], text: str) -> Block:
    return Block(kind, ((_spans(" ".join(text.split())),),))


def _cells(line: str) -> tuple[tuple[Span, ...], ...]:
    return tuple(_spans(c.strip()) for c in line.strip().strip("|").split("|"))


def _rule(row: tuple[tuple[Span, ...], ...]) -> bool:
    """Whether the row is the line between a table's head and its body."""
    return all(re.fullmatch(r":?-+:?", "".join(text for _, text in cell)) for cell in row)


def _spans(text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    at = 0
    for match in _SPAN.finditer(text):
        if match.start() > at:
            spans.append(("", text[at : match.start()]))
        spans.append(("code", match[1]) if match[1] is not None else ("strong", match[2]))
        at = match.end()
    if at < len(text) or not spans:
        spans.append(("", text[at:]))
    return tuple(spans)
