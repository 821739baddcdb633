"""Resolution binning: some pipelines compute at the nearest of a few sizes and resize the image."""

from __future__ import annotations

import re
import sys
from typing import Any

from diffprof.record.profile import Profile

BINNING = "use_resolution_binning"
"""The argument of pipelines with binning."""


def binned_sizes(pipeline: Any, default: Profile) -> tuple[tuple[int, int], ...]:
    """Return the heights and widths of the table in the pipeline's module that contains the default size."""
    module = vars(sys.modules[type(pipeline).__module__])
    tables = [_pairs(table.values()) for name, table in module.items() if re.fullmatch(r"ASPECT_RATIO_\d+_BIN", name)]
    tables += [_pairs(module["SUPPORTED_SHAPE"])] if "SUPPORTED_SHAPE" in module else []
    usual = (default.request.value("height"), default.request.value("width"))
    return next((table for table in tables if usual in table), ())


def _pairs(sizes: Any) -> tuple[tuple[int, int], ...]:
    return tuple(dict.fromkeys((int(height), int(width)) for height, width in sizes))
