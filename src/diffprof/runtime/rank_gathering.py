"""Merge the measurements of several processes into one profile."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from diffprof.breakdown.ranks import rank_parts
from diffprof.record.measured import RankPart
from diffprof.record.profile import Profile


def gather_ranks(profile: Profile, place: str) -> Profile:
    """Add the rows of all ranks to the profile; every rank must call this, and all get the same rows.

    Counts, samples and memory remain those of this rank, which executes its part of the work. With a single process,
    the profile is returned unchanged. `place` is the device of this rank.
    """
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return profile
    count = distributed.get_world_size()
    if count == 1 or profile.measured is None:
        return profile
    rows: list[tuple[RankPart, ...] | None] = [None] * count
    distributed.all_gather_object(rows, rank_parts(profile, distributed.get_rank(), place))
    every = tuple(row for one in rows for row in one or ())
    return replace(profile, measured=replace(profile.measured, ranks=every))
