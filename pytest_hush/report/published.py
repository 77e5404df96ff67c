"""Figures of the paper, printed beside ours and always labelled *published*: they are not results of this project.

Source: HUSH-Bench, arXiv 2606.06055, main results (UIS) and exposure tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SOURCE: Final = "HUSH-Bench, arXiv 2606.06055"

PUBLISHED_UIS: Final[Mapping[str, float]] = MappingProxyType(
    {"none": 0.0, "full-context": 11.2, "mem0": 11.3, "a-mem": 8.9, "memu": 26.6}
)
"""UIS of gpt-4o (named GPT-5.4-mini in the first version) by condition, 0..100."""

PUBLISHED_EXPOSURE: Final[Mapping[str, float]] = MappingProxyType({"mem0": 23.0, "a-mem": 23.4, "memu": 30.3})
"""Exact-target exposure in per cent, by memory system."""

PUBLISHED_OTHERS: Final = "51.3 to 83.0"
"""UIS of the paper's other generators (Claude-Sonnet-4.6, DeepSeek-V4-Flash, Qwen3.5-9B) over all conditions with
memory; without memory 0.0 to 0.3."""
PUBLISHED_GAIN: Final = "+27.0 to +41.3"
"""Gain in target uptake by an invitation, over generators; helpfulness stays, over-scope rises."""
PUBLISHED_BOUNDARY: Final = "about the no-memory floor"
"""UIS of Mem0 with the boundary prompt."""
