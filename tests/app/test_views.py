"""HTML of the page."""

from __future__ import annotations

import html

from diffprof.app.views import error_notice, notice, progress_view, totals_view
from diffprof.record.progress import Activity, ProgressEvent
from tests.sample_profiles import stable_diffusion


def test_everything_from_outside_is_text() -> None:
    assert "<b>" not in error_notice("Unknown model '<b>'")
    assert html.escape("<b>") in error_notice("Unknown model '<b>'")
    assert "<i>" not in progress_view(ProgressEvent(Activity.opening, "<i>"))
    assert "exactly" in totals_view(stable_diffusion())


def test_commands_in_a_sentence_stand_out_as_code() -> None:
    assert "Use <code>diffprof models</code>, &lt;b&gt;." in error_notice("Use `diffprof models`, <b>.")
    assert "a ` b" in notice("a ` b")


def test_progress_shows_the_times_of_the_steps() -> None:
    shown = progress_view(ProgressEvent(Activity.denoising, "sd", 2, 4), [0.5, 0.25])
    assert 'max="4"' in shown
    assert 'value="2"' in shown
    assert "last step 250 ms, all 750 ms" in shown
