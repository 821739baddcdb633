"""docs/RESULTS.md is what ``diffprof models cost`` prints."""

from __future__ import annotations

import re
from pathlib import Path

from diffprof import catalogue
from diffprof.comparison.model_costs import model_costs
from diffprof.comparison.views.model_costs import costs_markdown
from diffprof.counting.request_profile import count_request
from diffprof.record.request import Request

PAGE = Path(__file__).parents[1] / "docs" / "RESULTS.md"
RECOUNTED = 2
"""Rows that are counted again: the first is what the others are relative to."""


def rows() -> list[str]:
    return [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| [a-z]", line)][1:]


def test_the_first_rows_are_what_is_counted_now() -> None:
    names = [row.split(" | ")[0].removeprefix("| ") for row in rows()[:RECOUNTED]]
    now = costs_markdown(model_costs(names, lambda name: count_request(Request.create(name))))
    assert all(row in now.splitlines() for row in rows()[:RECOUNTED])


def test_every_model_of_the_page_is_one_of_the_catalogue() -> None:
    names = [row.split(" | ")[0].removeprefix("| ").replace("\\", "") for row in rows()]
    assert len(names) > 8
    assert [name for name in names if catalogue.find(name) is None] == []
