"""Without plotly there are no charts, and a sentence says what to install."""

from __future__ import annotations

import sys

import pytest

from diffprof.errors import RequestError
from diffprof.render import charts
from tests.children import run_child
from tests.sample_profiles import stable_diffusion


def test_a_chart_without_plotly_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(RequestError, match=r"pip install 'diffprof\[report\]'"):
        charts.kinds_chart(stable_diffusion())


def test_charts_are_imported_without_plotly_and_without_torch() -> None:
    code = (
        "import sys, diffprof.render.charts, diffprof.render.report.profile_page;"
        "print([name for name in ('plotly', 'torch') if name in sys.modules])"
    )
    assert run_child("-c", code).stdout == "[]\n"
