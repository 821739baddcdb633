"""CSV has every figure, exactly."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest

from diffprof.record.profile import Profile
from diffprof.render.csv import csv_text
from diffprof.render.profile_tables import ProfileTable
from tests.profiles_made_by_hand import hostile, nothing, stable_diffusion


def rows_of(profile: Profile, by: ProfileTable, depth: int = 9) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_text(profile, by, depth))))


def test_components_are_exact() -> None:
    rows = rows_of(stable_diffusion(), ProfileTable.component)
    assert [row["component"] for row in rows] == ["vae", "text_encoder", "unet"]
    assert sum(int(row["macs"]) for row in rows) == stable_diffusion().total.macs


@pytest.mark.parametrize("make", [stable_diffusion, nothing, hostile])
@pytest.mark.parametrize("by", list(ProfileTable))
def test_every_table_is_rectangular_and_has_a_heading(make: Callable[[], Profile], by: ProfileTable) -> None:
    lines = list(csv.reader(io.StringIO(csv_text(make(), by, 9))))
    assert len({len(line) for line in lines}) == 1
    assert "macs" in lines[0]


def test_modules_are_not_folded() -> None:
    paths = [row["path"] for row in rows_of(stable_diffusion(), ProfileTable.module)]
    assert "down_blocks.1" in paths


def test_truth_and_steps_are_readable() -> None:
    attention = rows_of(stable_diffusion(), ProfileTable.attention)
    assert {row["causal"] for row in attention} == {"true", "false"}
    assert rows_of(stable_diffusion(), ProfileTable.call)[1]["steps"] == "0-30"
