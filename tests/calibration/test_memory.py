"""Predicted memory against published peaks: the figures that docs/memory.md gives."""

from __future__ import annotations

import pytest
from calibration.memory import Comparison, compare, read_rows, summary

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
        assert find(row["model"]) is not None
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
