"""Long work for a visitor: in a thread of its own, with progress, and stopped when they no longer want it."""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from diffprof.app.visit import Visit
from diffprof.errors import DiffprofError
from diffprof.record.progress import Progress, ProgressEvent

Result = TypeVar("Result")


@dataclass(frozen=True)
class Done(Generic[Result]):
    """The result."""

    value: Result


@dataclass(frozen=True)
class Failed:
    """Why there is no result, in a sentence."""

    sentence: str


class Stopped(BaseException):
    """The visitor does not want it any more. No exception: code that handles those of a model must let it pass."""


def told(visit: Visit, tab: str, work: Callable[[Progress], Result]) -> Iterator[ProgressEvent | Done[Result] | Failed]:
    """Do work for a tab of a visitor, and tell how it goes; nothing more is told when they have stopped it."""
    switch = visit.begin(tab)
    try:
        yield from followed(work, switch)
    except Stopped:
        return
    except Exception as error:  # noqa: BLE001 the page lives on, whatever it is
        yield Failed(sentence(error))
    finally:
        visit.ended(tab, switch)


def followed(work: Callable[[Progress], Result], switch: threading.Event) -> Iterator[ProgressEvent | Done[Result]]:
    """Do the work elsewhere and tell how it goes; its errors are raised here. `switch` ends it at its next report."""
    heard: queue.SimpleQueue[ProgressEvent | Done[Result] | BaseException] = queue.SimpleQueue()

    def progress(event: ProgressEvent) -> None:
        if switch.is_set():
            raise Stopped
        heard.put(event)

    def run() -> None:
        try:
            heard.put(Done(work(progress)))
        except BaseException as error:  # noqa: BLE001 it is raised again where it can be shown
            heard.put(error)
        finally:
            del _under_way[threading.current_thread()]

    worker = threading.Thread(target=run, daemon=True, name="diffprof-work")
    _under_way[worker] = switch
    worker.start()
    try:
        while True:
            news = _next(heard, switch)
            if isinstance(news, BaseException):
                raise news
            yield news
            if isinstance(news, Done):
                return
    finally:
        # Also when nobody listens any more: the page was closed.
        switch.set()


_under_way: dict[threading.Thread, threading.Event] = {}
"""What is being worked on, with the switches that end it."""


def end_all(patience_seconds: float = 10) -> None:
    """End all that is under way: a process that ends in the middle of a computation would not end cleanly."""
    threads = dict(_under_way)
    for switch in threads.values():
        switch.set()
    for thread in threads:
        thread.join(patience_seconds)


def _next(heard: queue.SimpleQueue[Any], switch: threading.Event) -> Any:
    """What is newest: what came before it is out of date, unless it is the end."""
    while True:
        try:
            news = heard.get(timeout=SECONDS)
            break
        except queue.Empty:
            if switch.is_set():
                return Stopped()
    while isinstance(news, ProgressEvent) and not heard.empty():
        news = heard.get()
    return news


SECONDS = 0.1


def sentence(error: BaseException) -> str:
    """What to tell the visitor. What nobody foresaw is a bug: the owner sees all of it, the visitor a sentence."""
    if isinstance(error, DiffprofError):
        words = " ".join(str(error).split())
        words = words[:1].upper() + words[1:]
        return words if words.endswith((".", "?", "!")) else f"{words}."
    traceback.print_exception(error, file=sys.stderr)
    return f"This is a bug in diffprof ({type(error).__name__}); whoever started the page sees the details there."
