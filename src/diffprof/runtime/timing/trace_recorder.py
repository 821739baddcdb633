"""Chrome traces by torch.profiler: bounded, with the names of sections in them, and never in the way of the work."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.errors import DiffprofError, OutputError, RequestError
from diffprof.runtime.timing import sections

MEBIBYTE = 1024**2
TAIL_BYTES = 64
KINETO_ERRORS_ONLY = "6"


class TraceError(DiffprofError):
    """A trace could not be recorded; whatever it was to be of ran all the same."""


class TraceWarning(UserWarning):
    """Says at the end of the traced code that there is no trace, and why."""


@dataclass(frozen=True)
class TraceFile:
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
        self.traces: list[TraceFile] = []
        """Those that were written, the last one last."""
        self.problem: DiffprofError | None = None
        """Why the last one was not written."""
        self._recording: TraceRecording | None = None

    @contextlib.contextmanager
    def profile(self, name: str = "trace") -> Iterator[TraceRecorder]:
        """Record what runs inside, then write ``<output_dir>/<name>.json``."""
        recording, problem = self._start()
        try:
            yield self
        finally:
            if recording is not None:
                problem = self._finish(recording, name)
            self.problem = problem
            if problem is not None:
                warnings.warn(str(problem), TraceWarning, stacklevel=3)

    def step(self) -> None:
        """One step is over; the next begins."""
        if self._recording is not None:
            self._recording.step()

    def _start(self) -> tuple[TraceRecording | None, DiffprofError | None]:
        if _running is not None:
            return None, TraceError("A trace is being recorded already; one inside another is not possible.")
        try:
            _make_folder(self.output_dir)
            self._recording = TraceRecording(self.wait, self.warmup, self.active, self.options)
        except DiffprofError as error:
            return None, error
        except Exception as error:  # noqa: BLE001  whatever it is, the code inside is run
            return None, TraceError(f"torch.profiler could not be started: {_sentence(error)}")
        _let_run(self._recording)
        return self._recording, None

    def _finish(self, recording: TraceRecording, name: str) -> DiffprofError | None:
        _let_run(None)
        self._recording = None
        try:
            self.traces.append(self._written(recording, name))
        except DiffprofError as error:
            return error
        except OSError as error:
            return OutputError(f"Cannot write the trace {name!r}: {error.strerror or error}.")
        except Exception as error:  # noqa: BLE001  whatever it is, the result of the code inside is kept
            return TraceError(f"The trace {name!r} was lost: {_sentence(error)}")
        return None

    def _written(self, recording: TraceRecording, name: str) -> TraceFile:
        recording.stop()
        if not recording.recorded:
            raise TraceError(
                f"The trace {name!r} is empty: recording begins after {self.wait + self.warmup} steps, and "
                f"{recording.steps_taken} were taken. Call step() after each, or leave out wait and warmup."
            )
        # A folder of its own: where torch cannot finish a file, it leaves pieces under other names.
        with tempfile.TemporaryDirectory(dir=self.output_dir, prefix=".trace-") as folder:
            made = Path(folder) / f"{_file_name(name)}.json"
            with _given_back_to_the_disk(Path(folder)):
                recording.export(made)
            json_bytes = made.stat().st_size
            if json_bytes > self.gzip_above_bytes:
                made = _compressed(made)
            file_bytes = made.stat().st_size
            if file_bytes > self.max_bytes:
                raise OutputError(self._too_large(name, file_bytes))
            target = made.replace(self.output_dir / made.name)
        _remove_other(target)
        return TraceFile(target, file_bytes, json_bytes, recording.steps_recorded, recording.complete)

    def _too_large(self, name: str, file_bytes: int) -> str:
        return (
            f"The trace {name!r} has {file_bytes:,} bytes, above the limit of {self.max_bytes:,}, and was not kept: "
            "trace fewer steps (active), leave out record_shapes and with_stack, or raise max_bytes."
        )


class TraceRecording:
    """One recording that is under way."""

    def __init__(self, wait: int, warmup: int, active: int, options: dict[str, Any]) -> None:
        import torch

        if torch._C._autograd._profiler_enabled():
            raise TraceError(
                "torch.profiler is running already, and a second one would end it; nothing was traced here."
            )
        # Kineto prints two lines about itself for each trace, unless it is told not to before its first one.
        os.environ.setdefault("KINETO_LOG_LEVEL", KINETO_ERRORS_ONLY)
        self._skipped, self._active = wait + warmup, active
        self._thread = threading.get_ident()
        self._annotation = torch.profiler.record_function
        self._failure: Exception | None = None
        self.steps_taken = 0
        self._profile: Any = torch.profiler.profile(**{**options, "schedule": _schedule(torch, wait, warmup, active)})
        self._profile.start()
        self._annotate()

    def step(self) -> None:
        # torch.profiler belongs to the thread that started it.
        if threading.get_ident() != self._thread or self._failure is not None:
            return
        try:
            self._profile.step()
        except Exception as error:  # noqa: BLE001  it is told when the trace would be written, not in the traced code
            self._failure = error
        self.steps_taken += 1
        self._annotate()

    def stop(self) -> None:
        self._profile.stop()
        if self._failure is not None:
            raise self._failure

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
        if not path.is_file() or not _tail(path).endswith(b"}"):
            raise OutputError(f"The trace {path.stem!r} could not be written to its end: is the disk full?")

    def _annotate(self) -> None:
        recording = 0 <= self.steps_taken - self._skipped < self._active
        sections.annotate_with(self._annotation if recording else None)


def next_step() -> None:
    """Tell the trace that is being recorded, if one is, that a step is over."""
    if _running is not None:
        _running.step()


def _let_run(recording: TraceRecording | None) -> None:
    global _running
    _running = recording
    if recording is None:
        sections.annotate_with(None)


def _schedule(torch: Any, wait: int, warmup: int, active: int) -> Callable[[int], Any]:
    """torch's own schedule warns about a recording without warm-up, which is what a first iteration needs."""
    action = torch.profiler.ProfilerAction
    plan = [action.NONE] * wait + [action.WARMUP] * warmup + [action.RECORD] * (active - 1) + [action.RECORD_AND_SAVE]
    return lambda step: plan[step] if step < len(plan) else action.NONE


def _make_folder(folder: Path) -> None:
    """Before anything is recorded: hours later would be too late to find out."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"Cannot write a trace into {folder}: it is not a folder.") from error
    except OSError as error:
        raise OutputError(f"Cannot write a trace into {folder}: {error.strerror or error}.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"Cannot write a trace into {folder}: the folder is write-protected.")


@contextlib.contextmanager
def _given_back_to_the_disk(folder: Path) -> Iterator[None]:
    """Empty what is in the folder if it fails: torch keeps a file open that it could not finish.

    Merely deleted, the file would fill the disk to the end of the process, and nothing else could be written.
    """
    try:
        yield
    except BaseException:
        for piece in folder.iterdir():
            os.truncate(piece, 0)
        raise


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - TAIL_BYTES, 0))
        return file.read().rstrip()


def _compressed(path: Path) -> Path:
    target = path.with_name(f"{path.name}.gz")
    with path.open("rb") as reading, gzip.open(target, "wb", compresslevel=5) as writing:
        shutil.copyfileobj(reading, writing, MEBIBYTE)
    path.unlink()
    return target


def _file_name(name: str) -> str:
    """The name of a trace without what would lead out of the folder, or what some system does not allow."""
    return re.sub(r'[\x00-\x1f<>:"/\\|?*]', "_", name).strip(". ")[:120] or "trace"


def _remove_other(target: Path) -> None:
    """An earlier trace of that name in the other form, compressed or not, would be mistaken for this one."""
    other = target.with_suffix("") if target.suffix == ".gz" else target.with_name(f"{target.name}.gz")
    other.unlink(missing_ok=True)


def _sentence(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


_running: TraceRecording | None = None
