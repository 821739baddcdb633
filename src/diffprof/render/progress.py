"""Turn progress events into messages."""

from __future__ import annotations

import logging

from diffprof.record.progress import Activity, Position, Progress, ProgressCallback, ProgressEvent
from diffprof.render import numbers
from diffprof.render.progress_bar import ProgressBar

LOGGER = logging.getLogger("diffprof")
"""Logs every progress message at level INFO."""

_CALLS = {Activity.warming_up: "warm-up", Activity.measuring: "iteration"}

_SENTENCES = {
    Activity.opening: "opening {}",
    Activity.counting: "counting {}",
    Activity.crosschecking: "counting with {}",
    Activity.fetching: "fetching the weights of {}",
    Activity.loading: "loading {}",
    Activity.initializing: "creating random weights for {}",
    Activity.checking_memory: "{}: checking that it fits into memory",
    Activity.generating: "{}: generating",
    Activity.warming_up: "warming up",
    Activity.measuring: "measuring",
    Activity.tracing: "tracing",
    Activity.reading: "reading",
    Activity.sweeping: "sweeping: {}",
}


def progress_message(event: ProgressEvent) -> str:
    """The message for a progress event."""
    batch = f"{_position(event.model)}: " if event.model and event.model.count > 1 else ""
    return f"{batch}{_sentence(event)}"


def describe_to(callback: ProgressCallback | bool | None) -> Progress | None:
    """Convert a callback that takes ``(message, done, total)``, or True for a progress bar, to a receiver of events.

    If logging is enabled at level INFO, messages are also logged. None if nothing receives them.
    """
    receivers: list[ProgressCallback] = [_log] if LOGGER.isEnabledFor(logging.INFO) else []
    if callback is not None and callback is not False:
        receivers.append(ProgressBar() if callback is True else callback)
    if not receivers:
        return None

    def report(event: ProgressEvent) -> None:
        for receive in receivers:
            receive(progress_message(event), event.done, event.total)

    return report


def _log(message: str, done: int | None, total: int | None) -> None:
    LOGGER.info(message)


def _sentence(event: ProgressEvent) -> str:
    if event.activity is Activity.denoising:
        return _step(event)
    if event.activity is Activity.sweeping:
        left = f", about {numbers.seconds(event.remaining_seconds)} left" if event.remaining_seconds else ""
        return f"{event.subject}, request {event.done} of {event.total}{left}"
    if event.activity is Activity.counting and event.changes:
        changes = ", ".join(f"{name} {value}" for name, value in event.changes.items())
        return f"counting {event.subject} with {changes}"
    if event.iteration is not None:
        return f"{_CALLS.get(event.activity, event.activity.value)} {_position(event.iteration)}"
    return _SENTENCES[event.activity].format(event.subject)


def _step(event: ProgressEvent) -> str:
    of_all = f" of {event.total}" if event.total is not None else ""
    took = f" ({numbers.nanoseconds(event.step_seconds * 1e9)})" if event.step_seconds else ""
    left = f", about {numbers.seconds(event.remaining_seconds)} left" if event.remaining_seconds else ""
    return f"{event.subject}, step {event.done}{of_all}{took}{left}"


def _position(position: Position) -> str:
    return f"{position.number} of {position.count}"
