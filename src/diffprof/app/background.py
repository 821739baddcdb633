"""Long work for a session: in a thread of its own, with progress, and stopped when it is no longer needed."""

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
    """The result of the work."""

    value: Result


@dataclass(frozen=True)
class Failed:
    """Why there is no result, in a sentence."""

    message: str


class WorkStopped(BaseException):
    """The work was stopped. Not an `Exception`: code that handles those of a model must not handle this one."""


def run_for_session(
    session: Session, tab: str, work: Callable[[Progress], Result]
) -> Iterator[ProgressEvent | Done[Result] | Failed]:
    """Work for a tab of a session, and yield its progress and its end; nothing more once it is stopped."""
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
    """Work in another thread, and yield its progress and result; its errors are raised here.

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
    """Stop all work: a process that exits in the middle of a computation does not exit cleanly."""
    workers = dict(_workers)
    for stop in workers.values():
        stop.set()
    for thread in workers:
        thread.join(timeout_seconds)


def error_message(error: BaseException) -> str:
    """A sentence for the visitor. An unforeseen error is a bug: its traceback goes to whoever started the page."""
    if isinstance(error, ModuleNotFoundError):
        error = missing_torch(error, "This") or error
    if isinstance(error, DiffprofError):
        sentence = bounded_message(str(error))
        sentence = sentence[:1].upper() + sentence[1:]
        return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."
    traceback.print_exception(error, file=sys.stderr)
    return f"This is a bug in diffprof ({type(error).__name__}); the terminal that started the page has the details."


def _latest(messages: queue.SimpleQueue[Any], stop: threading.Event) -> Any:
    """The latest message: progress before it is out of date."""
    while True:
        try:
            message = messages.get(timeout=POLL_SECONDS)
            break
        except queue.Empty:
            if stop.is_set():
                return WorkStopped()
    # Only what is there now: whoever works faster than it is read must not keep its reader waiting for ever.
    for _ in range(messages.qsize()):
        if not isinstance(message, ProgressEvent):
            break
        message = messages.get()
    return message
