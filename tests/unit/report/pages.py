"""Reading a page as a browser would: its sections, and the data that its scripts unpack."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from typing import Any

from pytest_hush.model import Record
from pytest_hush.plan import Plan
from pytest_hush.report.html import Material, render_page
from tests.unit.report.making import summary_of


def page_of(records: Sequence[Record], plan: Plan, **options: Any) -> str:
    """The page of `records`; options are those of `Material`, and `summary`."""
    summary = options.pop("summary", None) or summary_of(records, plan)
    defaults: dict[str, Any] = {"exit_code": 1, "plugin_version": "0.1.0", "pack": plan.pack}
    return render_page(Material(summary, records, **defaults | options))


class Page(HTMLParser):
    """The page parsed: `tags` with their attributes, `texts` outside of scripts and styles, `blobs` by id."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.blobs: dict[str, str] = {}
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._inside: tuple[str, str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = (tag, dict(attrs).get("id") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.texts.append(data)
        elif self._inside[0] == "style":
            self.styles.append(data)
        elif self._inside[1]:
            self.blobs[self._inside[1]] = data
        else:
            self.scripts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def ids(self) -> set[str]:
        return {a["id"] for _, a in self.tags if a.get("id")}  # type: ignore[misc]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [a for t, a in self.tags if t == tag]

    def index(self) -> dict[str, Any]:
        return unpack(self.blobs["index"])

    def cases(self) -> list[dict[str, Any]]:
        """Every case as a reader would see it: names, numbers, texts."""
        return list(_cases(self.index(), self.blobs))


def unpack(blob: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(blob)))


def _cases(index: dict[str, Any], blobs: dict[str, str]) -> Iterable[dict[str, Any]]:
    lists, columns = index["lists"], index["columns"]
    rows: dict[int, list[Any]] = {}
    for start, count, piece in index["pieces"]:
        found = unpack(blobs[f"piece-{piece}"])
        assert len(found) == count
        rows |= {start + k: row for k, row in enumerate(found)}
    for i in range(len(columns["kind"])):
        case: dict[str, Any] = {name: names[columns[name][i]] for name, names in lists.items()}
        case |= {name: column[i] for name, column in columns.items() if name not in lists}
        if i in rows:
            shared = unpack(blobs[f"piece-{index['shared'][columns['persona'][i]]}"])
            reply, left, error, notes, entries, flags, judged, other = rows[i]
            asked = shared["asked"].get(case["probe"] + ("+" if case["kind"] == 2 else ""))
            case |= {"reply": reply, "left": left, "error": error, "notes": notes, "flags": flags, "asked": asked}
            case |= {"entries_shown": [shared["entries"][e] for e in entries], "judged": judged, "other": other}
            case |= {"facts": shared["facts"]}
        yield case


def policy_of(page: Page) -> str:
    (found,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert found is not None
    return found


def outside(text: str) -> list[str]:
    """Whatever in the page would be fetched: addresses in attributes and in style sheets."""
    return re.findall(r"(?:src|href|action)\s*=\s*[\"']?(?!#)[^\"'>\s]+|url\([^)]*\)|@import[^;]*", text)
