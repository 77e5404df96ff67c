"""Before a release: the tag, the built files and the changelog are of one version. Usage: check_tag.py v1.2.3 DIST"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def faults(tag: str, dist: Path, changelog: Path) -> list[str]:
    """What keeps `tag` from being released; empty where nothing does."""
    version = tag.removeprefix("v")
    if not tag.startswith("v") or not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        return [f"the tag {tag!r} is no version: expected v1.2.3, or v1.2.3rc1"]
    found = []
    wanted = {f"pytest_hush-{version}-py3-none-any.whl", f"pytest_hush-{version}.tar.gz"}
    built = {path.name for path in dist.iterdir()}
    if built != wanted:
        found.append(f"{dist} holds {', '.join(sorted(built)) or 'nothing'}; expected {', '.join(sorted(wanted))}")
    if f"\n## [{version}]" not in changelog.read_text(encoding="utf-8"):
        found.append(f"{changelog} has no section [{version}]")
    return found


def main() -> None:
    tag, dist = sys.argv[1:]
    found = faults(tag, Path(dist), Path("CHANGELOG.md"))
    for fault in found:
        print(f"::error title=release::{fault}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
