"""Record Chrome traces with torch.profiler: bounded, with the names of sections, and without affecting the code."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.errors import DiffprofError, OutputError, RequestError, first_line
from diffprof.runtime.timing import sections
from diffprof.runtime.timing.trace_files import (
    MEBIBYTE,
    compress,
    create_folder,
    ends_with,
    rank_ending,
    remove_other_form,
    repair_encoding,
    safe_file_name,
    truncate_on_failure,
)

KINETO_ERRORS_ONLY = "6"
REPAIRED = "torch.profiler recorded names that are not valid UTF-8; the unreadable bytes were replaced in"
_running: TraceRecording | None = None


class TraceError(DiffprofError):
    """A trace could not be recorded; the traced code still ran."""


class TraceWarning(UserWarning):
    """Issued after the traced code if there is no trace, or not the expected one."""


@dataclass(frozen=True)
class TraceFile:
    """A written trace."""

    path: Path
    """Ends in ``.json``, or in ``.json.gz`` if it is large; Perfetto and chrome://tracing open both."""
    file_bytes: int
    json_bytes: int
    """Size before compression."""
    steps: int
    """The number of recorded steps; code that never calls ``step()`` is one step."""
    complete: bool
    """Whether everything was recorded; otherwise only the first active steps were."""
    repaired: bool = False
    """Whether torch.profiler recorded names that are not valid UTF-8, whose bytes were replaced by U+FFFD."""

    @property
    def is_compressed(self) -> bool:
        return self.path.suffix == ".gz"

    @property
    def warning(self) -> str | None:
        """A warning about this trace, if there is one."""
        return f"{REPAIRED} {self.path.name}" if self.repaired else None


class TraceRecorder:
    """Writes what torch does inside ``profile(name)`` as a Chrome trace into `output_dir`.

    Recording is bounded: `wait` and `warmup` steps are skipped, then `active` steps are recorded. A step ends with
    `step()`, or with an iteration of an iteration profiler. A trace above `gzip_above_bytes` is compressed, and one
    that is still above `max_bytes` is not kept.

    Failures do not affect the code inside: they are stored in `problem`, and reported by a warning at the end.
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
            raise RequestError(f"A trace needs one active step or more; got {wait=}, {warmup=}, {active=}.")
        self.output_dir = Path(output_dir)
        self.options: dict[str, Any] = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
        }
        self.wait, self.warmup, self.active = wait, warmup, active
        self.gzip_above_bytes, self.max_bytes = gzip_above_bytes, max_bytes
        self.traces: list[TraceFile] = []
        """The traces that were written, in order."""
        self.problem: DiffprofError | None = None
        """Why the last trace was not written; None if it was."""
        self._recording: TraceRecording | None = None

    @contextlib.contextmanager
    def profile(self, name: str = "trace") -> Iterator[TraceRecorder]:
        """Record what runs inside, then write ``<output_dir>/<name>.json``."""
        recording, problem = self._start()
        warning: str | None = None
        try:
            yield self
        finally:
            if recording is not None:
                problem, warning = self._finish(recording, name)
            self.problem = problem
            if problem is not None:
                warning = str(problem)
            if warning is not None:
                warnings.warn(warning, TraceWarning, stacklevel=3)

    def step(self) -> None:
        """Mark the end of one step and the start of the next."""
        if self._recording is not None:
            self._recording.step()

    def _start(self) -> tuple[TraceRecording | None, DiffprofError | None]:
        if _running is not None:
            return None, TraceError("A trace is being recorded already; one inside another is not possible.")
        try:
            create_folder(self.output_dir)
            self._recording = TraceRecording(self.wait, self.warmup, self.active, self.options)
        except DiffprofError as error:
            return None, error
        except Exception as error:  # noqa: BLE001  whatever it is, the code inside must run
            return None, TraceError(f"torch.profiler could not be started: {first_line(error) or type(error).__name__}")
        _set_current(self._recording)
        return self._recording, None

    def _finish(self, recording: TraceRecording, name: str) -> tuple[DiffprofError | None, str | None]:
        """Write the trace; returns the error if that failed, else a warning about the trace."""
        _set_current(None)
        self._recording = None
        try:
            trace = self._write(recording, name)
        except DiffprofError as error:
            return error, None
        except OSError as error:
            return OutputError(f"Cannot write the trace {name!r}: {error.strerror or error}."), None
        except Exception as error:  # noqa: BLE001  whatever it is, the result of the code inside must be kept
            return TraceError(f"The trace {name!r} was lost: {first_line(error) or type(error).__name__}"), None
        self.traces.append(trace)
        return None, trace.warning

    def _write(self, recording: TraceRecording, name: str) -> TraceFile:
        recording.stop()
        if not recording.has_started:
            raise TraceError(
                f"The trace {name!r} is empty: recording begins after {self.wait + self.warmup} steps, and "
                f"{recording.steps_taken} were taken. Call step() after each, or leave out wait and warmup."
            )
        # In a separate folder, because torch leaves pieces under other names if it cannot finish a file.
        with tempfile.TemporaryDirectory(dir=self.output_dir, prefix=".trace-") as folder:
            file = Path(folder) / f"{safe_file_name(name)}{rank_ending()}.json"
            with truncate_on_failure(Path(folder)):
                recording.export(file)
                repaired = repair_encoding(file)
            json_bytes = file.stat().st_size
            if json_bytes > self.gzip_above_bytes:
                file = compress(file)
            file_bytes = file.stat().st_size
            if file_bytes > self.max_bytes:
                raise OutputError(self._size_error(name, file_bytes))
            target = file.replace(self.output_dir / file.name)
        remove_other_form(target)
        return TraceFile(target, file_bytes, json_bytes, recording.recorded_steps, recording.complete, repaired)

    def _size_error(self, name: str, file_bytes: int) -> str:
        return (
            f"The trace {name!r} has {file_bytes:,} bytes, above the limit of {self.max_bytes:,}, and was not kept: "
            "trace fewer steps (active), leave out record_shapes and with_stack, or raise max_bytes."
        )


class TraceRecording:
    """A recording in progress."""

    def __init__(self, wait: int, warmup: int, active: int, options: dict[str, Any]) -> None:
        import torch

        if torch._C._autograd._profiler_enabled():
            raise TraceError(
                "torch.profiler is running already, and a second one would end it; nothing was traced here."
            )
        # Kineto prints two lines about itself for each trace, unless this is set before its first one.
        os.environ.setdefault("KINETO_LOG_LEVEL", KINETO_ERRORS_ONLY)
        self._skipped, self._active = wait + warmup, active
        self._thread = threading.get_ident()
        self._annotation = torch.profiler.record_function
        self._failure: Exception | None = None
        self.steps_taken = 0
        self._profile: Any = torch.profiler.profile(**{**options, "schedule": _schedule(torch, wait, warmup, active)})
        self._profile.start()
        self._annotate_sections()

    def step(self) -> None:
        # torch.profiler can only be used by the thread that started it.
        if threading.get_ident() != self._thread or self._failure is not None:
            return
        try:
            with _ignore_undecodable_names():
                self._profile.step()
        except Exception as error:  # noqa: BLE001  reported when the trace would be written, not in the traced code
            self._failure = error
        self.steps_taken += 1
        self._annotate_sections()

    def stop(self) -> None:
        with _ignore_undecodable_names():
            self._profile.stop()
        if self._failure is not None:
            raise self._failure

    @property
    def has_started(self) -> bool:
        """Whether the steps before the recording are completed."""
        return self.steps_taken >= self._skipped

    @property
    def recorded_steps(self) -> int:
        return max(min(self.steps_taken - self._skipped, self._active), 1)

    @property
    def complete(self) -> bool:
        return not self._skipped and self.steps_taken < self._active

    def export(self, path: Path) -> None:
        """Write the trace, and check the end of the file, because torch does not report a full disk."""
        self._profile.export_chrome_trace(str(path))
        if not path.is_file() or not ends_with(path, b"}"):
            raise OutputError(f"The trace {path.stem!r} could not be written completely: is the disk full?")

    def _annotate_sections(self) -> None:
        is_recording = 0 <= self.steps_taken - self._skipped < self._active
        sections.annotate_with(self._annotation if is_recording else None)


@contextlib.contextmanager
def _ignore_undecodable_names() -> Iterator[None]:
    """Ignore event names that are not valid UTF-8, which torch.profiler occasionally records with stacks.

    torch then fails to build its Python events after the recording, but the trace can still be exported.
    """
    with contextlib.suppress(UnicodeDecodeError):
        yield


def next_step() -> None:
    """Mark the end of a step in the running trace, if there is one."""
    if _running is not None:
        _running.step()


def _set_current(recording: TraceRecording | None) -> None:
    global _running
    _running = recording
    if recording is None:
        sections.annotate_with(None)


def _schedule(torch: Any, wait: int, warmup: int, active: int) -> Callable[[int], Any]:
    """A schedule for torch.profiler. torch's own warns about a recording without warm-up."""
    action = torch.profiler.ProfilerAction
    plan = [action.NONE] * wait + [action.WARMUP] * warmup + [action.RECORD] * (active - 1) + [action.RECORD_AND_SAVE]
    return lambda step: plan[step] if step < len(plan) else action.NONE
