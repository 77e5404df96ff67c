"""Probe packs: read, check, plant, write, and plant into third-party dialogues."""

from pytest_hush.packs.importers import read_background
from pytest_hush.packs.importers.background import Background
from pytest_hush.packs.importers.rehome import plant_into
from pytest_hush.packs.planting import background, plant, plant_shared
from pytest_hush.packs.quality import Finding, check
from pytest_hush.packs.read import find_pack, load_pack
from pytest_hush.packs.revoking import check_language, revoke
from pytest_hush.packs.write import write_manifest, write_pack

__all__ = [
    "Background",
    "Finding",
    "background",
    "check",
    "check_language",
    "find_pack",
    "load_pack",
    "plant",
    "plant_into",
    "plant_shared",
    "read_background",
    "revoke",
    "write_manifest",
    "write_pack",
]
