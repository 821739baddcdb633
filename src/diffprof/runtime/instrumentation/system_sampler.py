"""Sample the process and its GPU in the background while a pipeline runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import psutil  # type: ignore[import-untyped]
import torch

from diffprof.errors import RequestError
from diffprof.record.measured import DeviceReading, SystemPoint
from diffprof.runtime.instrumentation.gpu_sensors import GpuReading, ReadGpu, find_gpu
from diffprof.runtime.timing.sections import Clock

SECOND = 1_000_000_000
MAX_HZ = 1000
MAX_POINTS = 36_000
"""An hour at 10 samples per second; longer runs are kept at half the resolution, and so on."""
STOP_SECONDS = 10
"""How long `stop` waits for a driver that does not answer."""


class ProcessReading(NamedTuple):
    """Resources that a process has used so far; None for values that the platform does not report."""

    cpu_ns: int
    rss_bytes: int
    read_bytes: int | None
    written_bytes: int | None


ReadProcess = Callable[[], ProcessReading]


class SystemSampler:
    """Samples on a background thread, from `start` to `stop`; also a context manager.

    An error ends the sampling, not the run, and is stored in `problem`.
    """

    def __init__(
        self,
        hz: float = 10,
        clock: Clock = time.perf_counter_ns,
        process: ReadProcess | None = None,
        gpu: ReadGpu | None = None,
        place: torch.device | None = None,
        others: Sequence[torch.device] = (),
    ) -> None:
        """`process` and `gpu` are the functions that read samples; by default of this process and the GPU at `place`.

        `others` are further GPUs of the pipeline.
        """
        if not isinstance(hz, (int, float)) or not 0 < hz <= MAX_HZ:
            raise RequestError(f"The system can be sampled at most {MAX_HZ} times a second, not {hz!r} times.")
        self.problem: str | None = None
        """Why something could not be sampled."""
        self._period_ns = round(SECOND / hz)
        self._clock = clock
        self._process = process
        self._gpu = gpu
        self._place = place
        self._others = {str(other): OtherGpu(other) for other in others}
        self._points: list[SystemPoint] = []
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, began_ns: int | None = None) -> None:
        """Start sampling. Times are relative to `began_ns` on the clock, by default now."""
        try:
            if self._gpu is None:
                self._gpu, self.problem = find_gpu(self._place)
            reader = SystemReader(self._process or this_process(), self._gpu, self._clock, began_ns)
        except Exception as error:  # noqa: BLE001  no error may affect the run
            self._give_up(error)
            return
        # A daemon, so that the program does not wait for it when it ends.
        self._thread = threading.Thread(target=self._run, args=(reader,), name="diffprof system sampler", daemon=True)
        self._thread.start()

    @property
    def readings(self) -> tuple[DeviceReading, ...]:
        """The samples of further GPUs, each in order of time."""
        return tuple(reading for other in self._others.values() for reading in other.readings)

    def stop(self) -> tuple[SystemPoint, ...]:
        """Stop sampling, and return the samples in order of time."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)
            if self._thread.is_alive():
                self.problem = "The system sampler did not end: a driver has not answered."
        return tuple(self._points)

    def __enter__(self) -> SystemSampler:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _run(self, reader: SystemReader) -> None:
        try:
            due = self._clock() + self._period_ns
            while not self._stopping.wait(max(due - self._clock(), 0) / SECOND):
                if reader.gpu is None and self.problem is None:  # it may have come into use meanwhile
                    reader.gpu, self.problem = find_gpu(self._place)
                self._take(reader)
                due = max(due + self._period_ns, self._clock())  # missed samples are skipped
            # A last sample for the rest of the run, unless that is too short for a rate.
            if not self._points or self._clock() > due - self._period_ns // 2:
                self._take(reader)
        except Exception as error:  # noqa: BLE001  no error may affect the run
            self._give_up(error)

    def _take(self, reader: SystemReader) -> None:
        point = reader.read()
        self.problem = self.problem or reader.problem
        for other in self._others.values():
            other.read(point.at_ns)
            self.problem = self.problem or other.problem
        self._keep(point)

    def _keep(self, point: SystemPoint) -> None:
        self._points.append(point)
        if len(self._points) >= MAX_POINTS:
            pairs = zip(self._points[::2], self._points[1::2], strict=True)
            self._points = [_merge(first, second) for first, second in pairs]
            for other in self._others.values():
                del other.readings[::2]
            self._period_ns *= 2

    def _give_up(self, error: Exception) -> None:
        self.problem = f"The system sampler ended early: {type(error).__name__}: {error}"


class OtherGpu:
    """A further GPU, read at the same moments as the main one, if it can be read."""

    def __init__(self, place: torch.device) -> None:
        self._place = place
        self._read: ReadGpu | None = None
        self.readings: list[DeviceReading] = []
        self.problem: str | None = None
        """Why it is not, or no longer, read."""

    def read(self, at_ns: int) -> None:
        if self._read is None and self.problem is None:  # it may have come into use meanwhile
            self._read, self.problem = find_gpu(self._place)
        if self._read is None:
            return
        try:
            self.readings.append(DeviceReading(str(self._place), at_ns, *self._read()))
        except Exception as error:  # noqa: BLE001  a lost GPU must affect neither the run nor the sampler
            self._read, self.problem = None, _loss_message(str(self._place), error)


def _loss_message(name: str, error: Exception) -> str:
    return f"{name} was sampled until it stopped answering: {type(error).__name__}: {error}"


class SystemReader:
    """Reads the use of resources since the previous sample; at first, since its creation."""

    def __init__(self, process: ReadProcess, gpu: ReadGpu | None, clock: Clock, began_ns: int | None = None) -> None:
        self._process, self.gpu, self._clock = process, gpu, clock
        self.problem: str | None = None
        """Why the GPU is no longer read."""
        self._last_ns, self._last = clock(), process()
        self._began_ns = self._last_ns if began_ns is None else began_ns

    def read(self) -> SystemPoint:
        now_ns, now = self._clock(), self._process()
        seconds = max(now_ns - self._last_ns, 1) / SECOND
        gpu = self._read_gpu()
        point = SystemPoint(
            at_ns=now_ns - self._began_ns,
            cpu_percent=100 * (now.cpu_ns - self._last.cpu_ns) / SECOND / seconds,
            rss_bytes=now.rss_bytes,
            read_bytes_per_second=_rate(self._last.read_bytes, now.read_bytes, seconds),
            written_bytes_per_second=_rate(self._last.written_bytes, now.written_bytes, seconds),
            gpu_percent=gpu.percent if gpu is not None else None,
            gpu_memory_bytes=gpu.memory_bytes if gpu is not None else None,
            gpu_watts=gpu.watts if gpu is not None else None,
            gpu_mhz=gpu.mhz if gpu is not None else None,
            gpu_celsius=gpu.celsius if gpu is not None else None,
            gpu_throttle=gpu.throttle if gpu is not None else None,
        )
        self._last_ns, self._last = now_ns, now
        return point

    def _read_gpu(self) -> GpuReading | None:
        if self.gpu is None:
            return None
        try:
            return self.gpu()
        except Exception as error:  # noqa: BLE001  a lost GPU must not end the sampling of the process
            self.gpu, self.problem = None, _loss_message("The GPU", error)
            return None


def _rate(before: int | None, after: int | None, seconds: float) -> float | None:
    return None if before is None or after is None else (after - before) / seconds


def _merge(first: SystemPoint, second: SystemPoint) -> SystemPoint:
    """Merge two samples into one: mean rates, and the larger memory."""

    def mean(*rates: float | None) -> float | None:
        known = [rate for rate in rates if rate is not None]
        return fmean(known) if known else None

    memory = [point.gpu_memory_bytes for point in (first, second) if point.gpu_memory_bytes is not None]
    return SystemPoint(
        at_ns=second.at_ns,
        cpu_percent=fmean((first.cpu_percent, second.cpu_percent)),
        rss_bytes=max(first.rss_bytes, second.rss_bytes),
        read_bytes_per_second=mean(first.read_bytes_per_second, second.read_bytes_per_second),
        written_bytes_per_second=mean(first.written_bytes_per_second, second.written_bytes_per_second),
        gpu_percent=mean(first.gpu_percent, second.gpu_percent),
        gpu_memory_bytes=max(memory, default=None),
        gpu_watts=mean(first.gpu_watts, second.gpu_watts),
        gpu_mhz=mean(first.gpu_mhz, second.gpu_mhz),
        gpu_celsius=mean(first.gpu_celsius, second.gpu_celsius),
        gpu_throttle=first.gpu_throttle or second.gpu_throttle,
    )


def this_process() -> ReadProcess:
    """A function that reads this process."""
    process = psutil.Process()
    has_io = _has_io_counters(process)

    def read() -> ProcessReading:
        io = process.io_counters() if has_io else None
        return ProcessReading(
            # Not psutil's CPU time, whose resolution is 0.01 s, a tenth of a period.
            cpu_ns=time.process_time_ns(),
            rss_bytes=process.memory_info().rss,
            read_bytes=io.read_bytes if io is not None else None,
            written_bytes=io.write_bytes if io is not None else None,
        )

    return read


def _has_io_counters(process: Any) -> bool:
    """Whether I/O counters are available; not on macOS, and not in some containers."""
    try:
        process.io_counters()
    except (AttributeError, NotImplementedError, OSError, psutil.Error):
        return False
    return True
