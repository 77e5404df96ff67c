"""Labels for `hush judge`: a labelled set by halves, or the labels of a run's own replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_hush.errors import LabelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_hush.judges.labelled_views import LabelledView
    from pytest_hush.judges.labels import LabelledSet
    from pytest_hush.model import JudgeView, Pack


def read_labels(
    source: str, half: str | None, packs: Sequence[str]
) -> tuple[LabelledSet, tuple[LabelledView, ...], tuple[JudgeView, ...]]:
    """The labels that `source` names, what a judge sees of each item, and of each reply without history.

    `half`: ``held-out`` when None. `packs`: folders of packs that are not bundled. Raises `LabelError` and `PackError`.
    """
    from pytest_hush.judges.labelled_views import labelled_views, no_memory_views
    from pytest_hush.judges.labels import find_labels, held_out, tuning, whole

    load = pack_loader(packs)
    if (run := Path(source) / RUN_LABELS).is_file():
        if half is not None:
            raise UsageError(f"--half={half}: the labels of a run ({run}) have no halves. Leave the option out.")
        from pytest_hush.cli.labelled_run import read_run_labels

        return (*read_run_labels(Path(source), load), ())
    read = {"held-out": held_out, "tuning": tuning, "all": whole}[half or "held-out"]
    labels = read(find_labels(source))
    silent = no_memory_views(labels, load)
    return labels, labelled_views(labels, load), tuple(view for view, _ in silent)


RUN_LABELS = "labels.jsonl"


def pack_loader(folders: Sequence[str]) -> Callable[[str], Pack]:
    """What gives a pack by its name: one of `folders` where one holds a pack of that name, else a bundled one."""
    from pytest_hush.packs import find_pack, load_pack

    own = {pack.name: pack for pack in (load_pack(Path(folder)) for folder in folders)}
    return lambda name: own[name] if name in own else load_pack(find_pack(name))


def write_labels_manifest(folder: Path, given: Mapping[str, str | None], packs: Sequence[str]) -> Path:
    """Write the manifest anew; what `given` leaves open stays as it was. Raises `LabelError` and `PackError`."""
    from pytest_hush.judges.labels_file import HEADER, packs_named, write_manifest
    from pytest_hush.packs.files import MANIFEST

    path = folder / MANIFEST
    about: dict[str, Any] = {"name": folder.resolve().name, "version": "1.0", "language": "en"}
    if path.is_file():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LabelError(f"{path} cannot be read ({error}); mend it, or remove it to write a new one.") from None
        about |= {name: known[name] for name in HEADER if isinstance(known, dict) and name in known}
    about |= {name: value for name, value in given.items() if value}
    load = pack_loader(packs)
    write_manifest(folder, about, {name: load(name).hash for name in packs_named(folder)})
    return path
