"""Reports as files for the tests, and a browser to open them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from diffprof.comparison.views.report import report_html
from diffprof.record.profile import Profile

Write = Callable[[Sequence[Profile]], str]


@pytest.fixture
def written(page_file: Path) -> Write:
    """Write the report of the profiles to a file, and give its address."""

    def write(profiles: Sequence[Profile]) -> str:
        page_file.write_text(report_html(profiles, [f"profile {number}" for number, _ in enumerate(profiles)]), "utf-8")
        return page_file.as_uri()

    return write
