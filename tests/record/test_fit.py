"""What a fit says about itself in one line."""

from __future__ import annotations

import pytest

from diffprof.record.fit import Fit, HostMemory, MemoryPeak

PEAK = MemoryPeak(1_000, 2_000, 3_000, "decode", "vae", "")


@pytest.mark.parametrize(
    ("fits", "accelerator", "line"),
    [
        (True, "l4", "<Fit of sdxl on l4: fits, 3,000 bytes>"),
        (False, "t4", "<Fit of sdxl on t4: does not fit, 3,000 bytes>"),
        (None, None, "<Fit of sdxl: no device named, 3,000 bytes>"),
    ],
)
def test_one_line_says_whether_it_fits(fits: bool | None, accelerator: str | None, line: str) -> None:
    assert repr(Fit("sdxl", PEAK, (), HostMemory(0, 0, 0), fits, accelerator=accelerator)) == line
