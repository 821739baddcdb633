"""Chrome traces by torch.profiler: bounded, with the names of sections in them, and never in the way of the work."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import secrets
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.errors import DiffprofError, OutputError, RequestError
from diffprof.measure.timing import sections

MEBIBYTE = 1024**2
TAIL_BYTES = 64


class TraceError(DiffprofError):
    """A trace could not be recorded; whatever it was to be of ran all the same."""


class TraceWarning(UserWarning):
    """Says at the end of the traced code that there is no trace, and why."""


@dataclass(frozen=True)
class Trace:
    """A trace that was written."""

    path: Path
    """Ends in ``.json``, or in ``.json.gz`` where it is large; Perfetto and chrome://tracing open both."""
    file_bytes: int
    json_bytes: int
    """Before it was compressed."""
    steps: int
    """How many steps are in it; code that never takes a step is one."""
    complete: bool
    """Whether it was recorded from the beginning to the end; else only its first active steps were."""

    @property
    def compressed(self) -> bool:
        return self.path.suffix == ".gz"


class TraceRecorder:
    """Writes what torch does inside ``profile(name)`` as a Chrome trace into `output_dir`.

    Recording is bounded: after `wait` and `warmup` steps, which are not in the trace, `active` steps are. A step ends
    with `step()`, or with an iteration of an iteration profiler. A trace above `gzip_above_bytes` is compressed, and
    one that is above `max_bytes` even then is not kept.

    The code inside is never disturbed. What could not be done is in `problem` and told by a warning at the end.
    """

    def __init__(
        self,
        output_dir: str | Path = "profiling_results",
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        *,
        wait: int = 0,
        warmup: int = 0,
        active: int = 5,
        gzip_above_bytes: int = 64 * MEBIBYTE,
        max_bytes: int = 1024 * MEBIBYTE,
    ) -> None:
        if min(wait, warmup) < 0 or active < 1:
            raise RequestError(f"A trace needs one active step or more; asked for were {wait=}, {warmup=}, {active=}.")
        self.output_dir = Path(output_dir)
        self.options: dict[str, Any] = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
        }
        self.wait, self.warmup, self.active = wait, warmup, active
        self.gzip_above_bytes, self.max_bytes = gzip_above_bytes, max_bytes
        self.traces: list[Trace] = []
        """Those that were written, the last one last."""
        self.problem: DiffprofError | None = None
        """Why the last one was not written."""

    @contextlib.contextmanager
    def profile(self, name: str = "trace") -> Iterator[TraceRecorder]:
        """Record what runs inside, then write ``<output_dir>/<name>.json``."""
        self.problem = None
        session = self._start()
        try:
            yield self
        finally:
            if session is not None:
                self._finish(session, name)
            if self.problem is not None:
                warnings.warn(str(self.problem), TraceWarning, stacklevel=3)

    def step(self) -> None:
        """One step is over; the next begins."""
        next_step()

    def _start(self) -> Session | None:
        if _session is not None:
            self.problem = TraceError("A trace is being recorded already; one inside another is not possible.")
            return None
        try:
            self.output_dir.mkdir(parents=True, exist_ok=True)
            if not os.access(self.output_dir, os.W_OK):
                raise PermissionError(None, "it is not writable")
            session = Session(self.wait, self.warmup, self.active, self.options)
        except OSError as error:
            self.problem = OutputError(f"Cannot write a trace into {self.output_dir}: {error.strerror or error}.")
            return None
        except Exception as error:  # noqa: BLE001  whatever it is, the code inside is run
            self.problem = TraceError(f"torch.profiler could not be started: {_sentence(error)}")
            return None
        _let_run(session)
        return session

    def _finish(self, session: Session, name: str) -> None:
        _let_run(None)
        try:
            self.traces.append(self._written(session, name))
        except DiffprofError as error:
            self.problem = error
        except OSError as error:
            self.problem = OutputError(f"Cannot write the trace {name!r}: {error.strerror or error}.")
        except Exception as error:  # noqa: BLE001  whatever it is, the result of the code inside is kept
            self.problem = TraceError(f"The trace {name!r} was lost: {_sentence(error)}")

    def _written(self, session: Session, name: str) -> Trace:
        session.stop()
        if not session.recorded:
            raise TraceError(
                f"The trace {name!r} is empty: recording begins after {self.wait + self.warmup} steps, and "
                f"{session.steps_taken} were taken. Call step() after each, or leave out wait and warmup."
            )
        temporary = self.output_dir / f".{secrets.token_hex(6)}.tmp"
        compressed = temporary.with_suffix(".gz.tmp")
        try:
            session.export(temporary)
            json_bytes = temporary.stat().st_size
            target = self.output_dir / f"{_file_name(name)}.json"
            if json_bytes > self.gzip_above_bytes:
                _compress(temporary, compressed)
                compressed.replace(temporary)
                target = target.with_name(f"{target.name}.gz")
            file_bytes = temporary.stat().st_size
            if file_bytes > self.max_bytes:
                raise OutputError(self._too_large(name, file_bytes))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
            compressed.unlink(missing_ok=True)
        _remove_other(target)
        return Trace(target, file_bytes, json_bytes, session.steps_recorded, session.complete)

    def _too_large(self, name: str, file_bytes: int) -> str:
        return (
            f"The trace {name!r} has {file_bytes:,} bytes, above the limit of {self.max_bytes:,}, and was not kept: "
            "trace fewer steps (active), leave out record_shapes and with_stack, or raise max_bytes."
        )


class Session:
    """One recording that is under way."""

    def __init__(self, wait: int, warmup: int, active: int, options: dict[str, Any]) -> None:
        import torch

        self._skipped, self._active = wait + warmup, active
        self._thread = threading.get_ident()
        self._annotation = torch.profiler.record_function
        self.steps_taken = 0
        self._profile: Any = torch.profiler.profile(**{**options, "schedule": _schedule(torch, wait, warmup, active)})
        self._profile.start()
        self._annotate()

    def step(self) -> None:
        # torch.profiler belongs to the thread that started it.
        if threading.get_ident() == self._thread:
            self.steps_taken += 1
            self._profile.step()
            self._annotate()

    def stop(self) -> None:
        self._profile.stop()

    @property
    def recorded(self) -> bool:
        return self.steps_taken >= self._skipped

    @property
    def steps_recorded(self) -> int:
        return max(min(self.steps_taken - self._skipped, self._active), 1)

    @property
    def complete(self) -> bool:
        return not self._skipped and self.steps_taken < self._active

    def export(self, path: Path) -> None:
        """Write the trace; torch does not tell when a disk is full, so the end of the file is looked at."""
        self._profile.export_chrome_trace(str(path))
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - TAIL_BYTES, 0))
            if not file.read().rstrip().endswith(b"}"):
                raise OutputError(f"The trace in {path.parent} was cut off while it was written: is the disk full?")

    def _annotate(self) -> None:
        recording = 0 <= self.steps_taken - self._skipped < self._active
        sections.annotate_with(self._annotation if recording else None)


def next_step() -> None:
    """Tell the trace that is being recorded, if one is, that a step is over."""
    if _session is not None:
        _session.step()


def _let_run(session: Session | None) -> None:
    global _session
    _session = session
    if session is None:
        sections.annotate_with(None)


def _schedule(torch: Any, wait: int, warmup: int, active: int) -> Callable[[int], Any]:
    """torch's own schedule warns about a recording without warm-up, which is what a first iteration needs."""
    action = torch.profiler.ProfilerAction
    plan = [action.NONE] * wait + [action.WARMUP] * warmup + [action.RECORD] * (active - 1) + [action.RECORD_AND_SAVE]
    return lambda step: plan[step] if step < len(plan) else action.NONE


def _compress(source: Path, target: Path) -> None:
    with source.open("rb") as reading, gzip.open(target, "wb", compresslevel=5) as writing:
        shutil.copyfileobj(reading, writing, MEBIBYTE)


def _file_name(name: str) -> str:
    """The name of a trace without what would lead out of the folder, or what some system does not allow."""
    return re.sub(r'[\x00-\x1f<>:"/\\|?*]', "_", name).strip(". ")[:120] or "trace"


def _remove_other(target: Path) -> None:
    """An earlier trace of that name in the other form, compressed or not, would be mistaken for this one."""
    other = target.with_suffix("") if target.suffix == ".gz" else target.with_name(f"{target.name}.gz")
    other.unlink(missing_ok=True)


def _sentence(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


_session: Session | None = None
