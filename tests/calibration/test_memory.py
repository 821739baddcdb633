"""Predicted memory against published peaks: the figures that docs/memory.md gives."""

from __future__ import annotations

import pytest
from calibration.count_workloads import IMAGE_TO_IMAGE
from calibration.memory import Comparison, compare, groups, read_rows, summary

from diffprof.catalogue import find
from diffprof.catalogue.accelerators import find_accelerator

QUICK = ("flux.1-dev", "sd3-medium", "pixart-sigma-1024")
"""Models that are counted in a second; `python -m calibration.memory` goes through all."""


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIFFPROF_CACHE_DIR", "")
        return compare(row for row in read_rows() if row["model"] in QUICK and row["batch"] in ("", "1"))


def test_every_row_names_a_known_model_and_accelerator_and_its_source() -> None:
    for row in read_rows():
        assert find(row["model"].removesuffix(IMAGE_TO_IMAGE)) is not None
        assert row["accelerator"] == "" or find_accelerator(row["accelerator"]).name == row["accelerator"]
        assert float(row["gib"]) > 0
        assert row["kind"] in ("allocated", "reserved", "device")
        assert row["source"]


def test_published_peaks_are_predicted(comparisons: list[Comparison]) -> None:
    figures = summary([each.error for each in comparisons])
    assert figures["rows"] > 40
    assert figures["median"] <= 0.03
    assert figures["within_15"] >= 0.9


def test_what_is_off_by_more_than_a_fifth_is_explained(comparisons: list[Comparison]) -> None:
    off = [each for each in comparisons if abs(each.error) > 0.2]
    assert [each.row["source"] for each in off] == ["huggingface/blog sd3.md"]


def test_a_vae_alone_reserves_what_was_published() -> None:
    chosen = [
        row for row in read_rows() if (row["model"], row["part"], row["accelerator"]) == ("sd-1.5", "vae", "rtx-3090")
    ]
    (of_a_vae,) = (group for name, group in groups(compare(chosen)).items() if name == "a VAE alone")
    assert len(of_a_vae) == len(chosen) == 3
    assert max(abs(each.error) for each in of_a_vae) < 0.02
    assert {each.where.split()[0] for each in of_a_vae} == {"decode"}
