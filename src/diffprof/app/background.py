"""Run long work for a session in a thread, with progress, and stop it when it is no longer needed."""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from diffprof.app.session import Session
from diffprof.errors import DiffprofError, bounded_message, missing_torch
from diffprof.record.progress import Progress, ProgressEvent

POLL_SECONDS = 0.1

Result = TypeVar("Result")

_workers: dict[threading.Thread, threading.Event] = {}
"""The threads at work, and the events that stop them."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """The work has finished, with this result."""

    value: Result


@dataclass(frozen=True)
class Failed:
    """The work has failed, for this reason."""

    message: str


class WorkStopped(BaseException):
    """Raised in the thread to stop its work. Not an `Exception`, so that no handler in a pipeline swallows it."""


def run_for_session(
    session: Session, tab: str, work: Callable[[Progress], Result]
) -> Iterator[ProgressEvent | Done[Result] | Failed]:
    """Run work for a tab of a session; yields its progress, then its end, and nothing more once it is stopped."""
    stop = session.begin(tab)
    try:
        yield from run_in_thread(work, stop)
    except WorkStopped:
        return
    except Exception as error:  # noqa: BLE001 the page goes on, whatever it is
        yield Failed(error_message(error))
    finally:
        session.end(tab, stop)


def run_in_thread(work: Callable[[Progress], Result], stop: threading.Event) -> Iterator[ProgressEvent | Done[Result]]:
    """Run work in another thread; yields its progress and its result, and raises its errors here.

    Setting `stop` ends the work at its next progress event.
    """
    messages: queue.SimpleQueue[ProgressEvent | Done[Result] | BaseException] = queue.SimpleQueue()

    def progress(event: ProgressEvent) -> None:
        if stop.is_set():
            raise WorkStopped
        messages.put(event)

    def run() -> None:
        try:
            messages.put(Done(work(progress)))
        except BaseException as error:  # noqa: BLE001 it is raised again in the thread that shows it
            messages.put(error)
        finally:
            del _workers[threading.current_thread()]

    worker = threading.Thread(target=run, daemon=True, name="diffprof-work")
    _workers[worker] = stop
    worker.start()
    try:
        while True:
            message = _latest(messages, stop)
            if isinstance(message, BaseException):
                raise message
            yield message
            if isinstance(message, Done):
                return
    finally:
        # Also when the page was closed and nobody reads on.
        stop.set()


def stop_all(timeout_seconds: float = 10) -> None:
    """Stop all work, because a process that exits in the middle of a computation does not exit cleanly."""
    workers = dict(_workers)
    for stop in workers.values():
        stop.set()
    for thread in workers:
        thread.join(timeout_seconds)


def error_message(error: BaseException) -> str:
    """The message for the visitor. The traceback of an unexpected error is printed to the terminal."""
    if isinstance(error, ModuleNotFoundError):
        error = missing_torch(error, "This") or error
    if isinstance(error, DiffprofError):
        sentence = bounded_message(str(error))
        sentence = sentence[:1].upper() + sentence[1:]
        return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."
    traceback.print_exception(error, file=sys.stderr)
    return f"This is a bug in diffprof ({type(error).__name__}); the terminal that started the page has the details."


def _latest(messages: queue.SimpleQueue[Any], stop: threading.Event) -> Any:
    """The latest message; older progress is dropped."""
    while True:
        try:
            message = messages.get(timeout=POLL_SECONDS)
            break
        except queue.Empty:
            if stop.is_set():
                return WorkStopped()
    # Only messages that are there now: a fast worker must not keep the reader in this loop forever.
    for _ in range(messages.qsize()):
        if not isinstance(message, ProgressEvent):
            break
        message = messages.get()
    return message
