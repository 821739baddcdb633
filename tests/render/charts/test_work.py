"""Kinds of work and attention."""

from __future__ import annotations

import pytest

from diffprof.render import charts
from tests.sample_profiles import stable_diffusion


def test_kinds_show_their_share_of_macs_and_of_bytes() -> None:
    macs, moved = charts.kinds_chart(stable_diffusion()).data
    assert macs.y == ("convolution", "linear", "attention", "norm")
    assert sum(macs.x) == pytest.approx(1)
    assert sum(moved.x) == pytest.approx(1)
    assert macs.x[3] == 0
    assert moved.x[3] > 0


def test_attention_shows_qk_and_av_of_every_layer() -> None:
    qk, av = charts.attention_chart(stable_diffusion()).data
    assert qk.x == av.x
    assert qk.x[0] == 31 * 3 * 2 * 5 * 4096 * 4096 * 64
    assert "self, 4,096 x 4,096 tokens" in charts.attention_chart(stable_diffusion()).layout.yaxis.ticktext[0]
