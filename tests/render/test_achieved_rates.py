"""What an accelerator reaches: every number of the time model is shown with its source."""

from __future__ import annotations

from dataclasses import replace

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.efficiency_numbers import NAMES
from diffprof.render.achieved_rates import MEASURED, rate_lines, rate_values


def test_every_number_has_a_source() -> None:
    lines = rate_lines(find_accelerator("h100-sxm"))
    assert {line.name for line in lines} >= {name.replace("_", " ") for name in NAMES}
    assert all(line.value and line.source for line in lines)


def test_what_was_measured_says_so() -> None:
    entry = replace(find_accelerator("h100-sxm"), measured={"speed": 0.5})
    (speed,) = [line for line in rate_lines(entry) if line.name == "speed"]
    assert (speed.value, speed.source) == ("0.5", MEASURED)


def test_values_for_programs_are_below_the_peaks() -> None:
    entry = find_accelerator("h100-sxm")
    reached = rate_values(entry)
    for dtype, rate in reached["product_flops_per_second"].items():
        assert 0 < rate < entry.peak_flops_per_second[dtype]
    assert set(reached["numbers"]) == set(NAMES)
