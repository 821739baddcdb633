"""A comparison for programs: JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from diffprof.comparison import Comparison
from diffprof.comparison.counts import METRICS
from diffprof.comparison.views.data import COLUMNS, ComparisonBy, comparison_csv, comparison_json
from tests.comparison.views.comparisons import EVERY, fewer_steps
from tests.sample_profiles import stable_diffusion

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "comparison.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("comparison", EVERY)
def test_json_is_what_the_schema_says(comparison: Callable[[], Comparison]) -> None:
    values = json.loads(comparison_json(comparison()))
    jsonschema.validate(values, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_json_has_every_metric_exactly() -> None:
    values = json.loads(comparison_json(fewer_steps()))
    (pair,) = values["pairs"]
    assert {row["name"]: row["before"] for row in pair["totals"]} == {
        name: metric(stable_diffusion()) for name, metric in METRICS.items()
    }
    assert (values["same_request"], values["same_device"]) == (False, True)
    assert sum(row["difference"] for row in pair["totals"] if row["name"] == "macs") == -10 * 804_257_464_320


@pytest.mark.parametrize("comparison", EVERY)
@pytest.mark.parametrize("by", list(ComparisonBy))
def test_every_table_is_csv(comparison: Callable[[], Comparison], by: ComparisonBy) -> None:
    compared = comparison()
    rows = list(csv.DictReader(io.StringIO(comparison_csv(compared, by))))
    if by is ComparisonBy.profile:
        assert [row["name"] for row in rows] == list(compared.names)
    elif by is ComparisonBy.condition:
        assert len(rows) == len(compared.conditions)
    else:
        assert all(list(row) == ["before", "after", *COLUMNS[by]] and None not in row.values() for row in rows)
    if by is ComparisonBy.total:
        assert len(rows) == len(compared.pairs) * len(METRICS)
