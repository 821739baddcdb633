"""Predicted times as CSV."""

from __future__ import annotations

import csv
import io

from diffprof.advice.views.prediction_data import ACCELERATOR_COLUMNS, prediction_csv
from diffprof.advice.views.prediction_tables import PredictionTable
from tests.advice.views.answers import PREDICTION


def rows(by: PredictionTable) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(prediction_csv(PREDICTION, by))))


def test_accelerators_have_their_exact_numbers() -> None:
    l4, h100 = rows(PredictionTable.accelerator)
    assert tuple(l4) == ACCELERATOR_COLUMNS
    assert (l4["total_seconds"], l4["price_usd"], h100["accelerator"]) == ("8.0", "", "h100-sxm")


def test_parts_of_an_accelerator_sum_to_its_time() -> None:
    for by, column in ((PredictionTable.component, "total_seconds"), (PredictionTable.kind, "seconds")):
        assert sum(float(row[column]) for row in rows(by) if row["accelerator"] == "l4") == 8.0
