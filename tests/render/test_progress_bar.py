"""A progress bar for Python."""

from __future__ import annotations

import pytest

from diffprof.record.progress import Activity, ProgressEvent
from diffprof.render.progress import describe_to
from diffprof.render.progress_bar import ProgressBar


def test_true_draws_a_bar_for_each_activity(capsys: pytest.CaptureFixture[str]) -> None:
    progress = describe_to(True)
    assert progress is not None
    progress(ProgressEvent(Activity.opening, "shapes"))
    progress(ProgressEvent(Activity.measuring, done=1, total=2))
    progress(ProgressEvent(Activity.measuring, done=2, total=2))
    drawn = capsys.readouterr().err
    assert "opening shapes" in drawn
    assert "2/2" in drawn
    assert describe_to(False) is None


def test_a_bar_that_is_closed_twice_stays_closed(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar("counting", 0, 3)
    bar.close()
    assert "counting" in capsys.readouterr().err
    bar.close()
    assert capsys.readouterr().err == ""
