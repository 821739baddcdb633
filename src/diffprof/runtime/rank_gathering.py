"""Merges what several processes measured of one run into one profile."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from diffprof.breakdown.ranks import rank_parts
from diffprof.record.measured import RankPart
from diffprof.record.profile import Profile


def gather_ranks(profile: Profile, place: str) -> Profile:
    """The profile with the rows of all ranks; every rank must call this, and all get the same rows.

    Counts, samples and memory stay those of the rank itself: a rank executes its part of the work. The same profile
    where there is only one process. `place` is the device of this rank.
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
