"""A memory snapshot as a page."""

from __future__ import annotations

from dataclasses import replace

from diffprof.traces.memory.explain import MemoryShare
from diffprof.traces.memory.page import snapshot_html
from tests.traces.memory.snapshots import DEVICE, MB


def test_the_page_leads_with_the_largest_owner_of_the_fullest_device() -> None:
    other = replace(DEVICE, device=1, peak_bytes=10 * MB)
    assert "on device 0 at the peak, 75.0 % of it held by denoiser." in snapshot_html([other, DEVICE], "s.pickle")


def test_an_empty_snapshot_is_a_page_too() -> None:
    assert "The snapshot has no memory of any device in it." in snapshot_html([], "s.pickle")
    assert "were allocated on device 0." in snapshot_html([replace(DEVICE, owners=())], "s.pickle")


def test_names_are_text() -> None:
    hostile = replace(DEVICE, owners=(MemoryShare("<script>x", MB, 1), MemoryShare("b", MB, 1)))
    assert "<script>x" not in snapshot_html([hostile], "<script>x")
