"""Cache hits over the denoising steps."""

from __future__ import annotations

from diffprof.render import charts
from tests.sample_profiles import everything_measured


def test_caches_show_the_share_of_hits_in_each_step() -> None:
    (fields,) = charts.cache_chart(everything_measured()).data
    assert [list(row) for row in fields.z] == [[0]]
