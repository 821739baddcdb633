"""`diffprof run` under torchrun: two ranks on the CPU make one profile, with rows for each of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import diffprof
from diffprof.record.profile import Profile
from diffprof.render.run_console import run_text
from diffprof.render.table_names import RunTable
from diffprof.runtime.rank_gathering import gather_ranks
from tests.pipelines.loadable import saved_with_weights
from tests.runtime.torchrun import run_on_two_ranks
from tests.sample_profiles import measured_profile

CALL = ["--height", "8", "--width", "8", "--steps", "2", "--set", "max_sequence_length=24"]


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profile, Path]:
    """The one profile of two ranks, and the folder that they wrote into."""
    folder = tmp_path_factory.mktemp("ranks")
    saved_with_weights("flux", folder / "tiny")
    outputs = run_on_two_ranks(
        ["run", str(folder / "tiny"), *CALL, "--parallel", "ulysses=2", "--iterations", "1", "--warmup", "0",
         "--sample-hz", "0", "--seed", "1", "--device", "cpu", "-o", str(folder / "out"), "--json"],
        folder / "logs",
    )  # fmt: skip
    first, second = outputs
    json.loads(first)
    assert not second
    return diffprof.load(folder / "out" / "profiling_report.json"), folder / "out"


def test_the_ranks_stand_side_by_side(merged: tuple[Profile, Path]) -> None:
    profile, folder = merged
    assert profile.measured is not None and profile.measured.preparation == {"parallel": "ulysses=2"}
    rows = profile.measured.ranks
    assert {row.rank for row in rows} == {0, 1}
    first, second = ([row for row in rows if row.rank == rank] for rank in (0, 1))
    assert [(row.component, row.calls, row.macs) for row in first] == [
        (row.component, row.calls, row.macs) for row in second
    ]
    whole = {row.rank: row for row in rows if not row.component}
    assert whole[0].macs == profile.total.macs
    assert {path.name for path in folder.iterdir()} == {
        "profiling_report.json",
        "memory_log.json",
        "timing_summary.txt",
    }


def test_each_rank_has_its_part_of_the_work_and_says_what_it_communicated(merged: tuple[Profile, Path]) -> None:
    profile, _ = merged
    assert profile.measured is not None
    alone = diffprof.profile(merged[1].parent / "tiny", height=8, width=8, steps=2, max_sequence_length=24)
    for row in profile.measured.ranks:
        if row.component == "transformer":
            assert row.macs is not None and row.macs < alone.components["transformer"].macs
            assert row.sent_bytes and row.received_bytes
        elif row.component:
            assert row.macs == alone.components[row.component].macs
            assert (row.sent_bytes, row.received_bytes) == (0, 0)


def test_the_tables_show_them(merged: tuple[Profile, Path]) -> None:
    text = run_text(merged[0], 120)
    assert "split across ranks (ulysses=2), 2 ranks; everything but the table of ranks is for rank 0" in text
    assert "Ranks in one generation" in text
    assert run_text(merged[0], 120, RunTable.rank).count("transformer") == 2


def test_a_single_process_has_no_ranks() -> None:
    profile = measured_profile()
    assert gather_ranks(profile, "cpu") is profile
