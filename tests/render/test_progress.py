"""Progress in words."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from diffprof.record.progress import Activity, Position, ProgressEvent
from diffprof.render.progress import describe_to, progress_message


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (ProgressEvent(Activity.opening, "sd-1.5"), "opening sd-1.5"),
        (ProgressEvent(Activity.counting, "unet"), "counting unet"),
        (ProgressEvent(Activity.counting, "sd-1.5", changes={"width": 64, "height": 32}),
         "counting sd-1.5 with width 64, height 32"),
        (ProgressEvent(Activity.crosschecking, "fvcore", 1, 4), "counting with fvcore"),
        (ProgressEvent(Activity.fetching, "owner/model", 5, 10), "fetching the weights of owner/model"),
        (ProgressEvent(Activity.loading, "{unet}", 1, 3), "loading {unet}"),
        (ProgressEvent(Activity.warming_up, iteration=Position(1, 2)), "warm-up 1 of 2"),
        (ProgressEvent(Activity.measuring, done=3, iteration=Position(2, 3)), "iteration 2 of 3"),
        (ProgressEvent(Activity.denoising, "sd", 1, 4), "sd, step 1 of 4"),
        (ProgressEvent(Activity.denoising, "sd", 2, 4, step_seconds=0.5, remaining_seconds=1.0),
         "sd, step 2 of 4 (500 ms), about 1.00 s left"),
        (ProgressEvent(Activity.denoising, "sd", 4, 4, step_seconds=1.0, remaining_seconds=0.0),
         "sd, step 4 of 4 (1.00 s)"),
        (ProgressEvent(Activity.denoising, "sd", 2, None, model=Position(1, 1)), "sd, step 2"),
        (ProgressEvent(Activity.loading, "unet", 1, 3, model=Position(2, 3)), "2 of 3: loading unet"),
    ],
)  # fmt: skip
def test_an_event_is_one_line(event: ProgressEvent, message: str) -> None:
    assert progress_message(event) == message


@pytest.mark.parametrize("activity", Activity)
def test_every_activity_has_words(activity: Activity) -> None:
    assert progress_message(ProgressEvent(activity, "unet", 1, 2)).strip()


def test_a_callback_gets_the_message_and_how_much_is_done() -> None:
    received: list[tuple[str, int | None, int | None]] = []
    progress = describe_to(lambda *arguments: received.append(arguments))
    assert progress is not None
    progress(ProgressEvent(Activity.loading, "unet", 1, 3))
    assert received == [("loading unet", 1, 3)]
    assert describe_to(None) is None


@pytest.fixture
def shown_log() -> Iterator[io.StringIO]:
    """What a program reads that shows the log of diffprof, and nothing else."""
    logger, text = logging.getLogger("diffprof"), io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield text
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_a_program_that_shows_the_log_reads_what_goes_on(shown_log: io.StringIO) -> None:
    progress = describe_to(None)
    assert progress is not None
    progress(ProgressEvent(Activity.counting, "unet"))
    assert shown_log.getvalue() == "diffprof: counting unet\n"


def test_where_nobody_shows_the_log_nothing_is_described() -> None:
    assert describe_to(None) is None
