"""Values that must never be printed or kept: they are blotted out of every text that leaves the program.

Known are the values of environment variables whose name looks secret, and those that a caller has registered.
"""

from __future__ import annotations

import os
import re
from typing import Final

MARK: Final = "<secret>"
SHORTEST: Final = 8
"""Characters. A shorter value (a port, a user's name) would also be blotted where it is an ordinary word."""

NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
"""A variable or setting whose name holds one of these is taken to be secret."""

_registered: set[str] = set()


def register(value: str) -> None:
    """From now on `blot` replaces `value` too. Values shorter than `SHORTEST` characters are ignored."""
    if len(value) >= SHORTEST:
        _registered.add(value)


def blot(text: str) -> str:
    """`text` with every known secret replaced by `MARK`, the longest first."""
    # Name by name: pytest sets and removes PYTEST_CURRENT_TEST in another thread, and items() would miss a step there.
    values = [os.environ.get(name, "") for name in list(os.environ) if NAME.search(name)]
    known = {value for value in values if len(value) >= SHORTEST}
    for value in sorted(known | set(_registered), key=lambda v: (-len(v), v)):
        text = text.replace(value, MARK)
    return text
