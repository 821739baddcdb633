"""Run tasks of a sweep in worker processes on this machine, which are started when they are needed.

If a worker is killed, its task is given to a new one, and fails only if that is killed, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from diffprof import errors
from diffprof.sweeps.records import Task, TaskOutcome
from diffprof.sweeps.worker import read_answer

ATTEMPTS = 2
MAX_WORKERS = 4
"""The default maximum: each worker takes about a gigabyte for torch and the libraries."""


def usual_workers() -> int:
    """The default number of workers."""
    return max(1, min(MAX_WORKERS, os.cpu_count() or 1))


class WorkerProcesses:
    """Worker processes, each driven by a thread of this process."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._local = threading.local()
        self._children: set[Worker] = set()
        self._lock = threading.Lock()
        self._has_ended = False

    @property
    def process_ids(self) -> list[int]:
        """The process ids of running workers."""
        return [child.process.pid for child in list(self._children) if child.process.poll() is None]

    def answers(self, tasks: Iterable[Task]) -> Iterator[TaskOutcome]:
        """Yield the outcome of every task as it becomes ready; tasks are started as workers become free."""
        waiting: set[Future[TaskOutcome]] = set()
        executor = ThreadPoolExecutor(self._count)
        try:
            for task in tasks:
                waiting.add(executor.submit(self._answer, task))
                if len(waiting) >= 2 * self._count:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            # Also after Ctrl-C: pending tasks are abandoned, and no process is left running.
            executor.shutdown(wait=False, cancel_futures=True)
            with self._lock:
                self._has_ended = True
                for child in self._children:
                    child.process.kill()
            executor.shutdown()
            for child in self._children:
                child.end()

    def _answer(self, task: Task) -> TaskOutcome:
        for _ in range(ATTEMPTS):
            child = getattr(self._local, "child", None) or self._start()
            if child is None:
                return TaskOutcome(task, error="the sweep was ended")
            answer = child.ask(task)
            if answer is not None:
                return answer
            self._local.child = None
            code = child.end()
        reason = (
            f"was ended by signal {-code}, most likely because memory ran out" if code < 0 else f"ended with {code}"
        )
        return TaskOutcome(task, error=f"the process that computed this point {reason}, {ATTEMPTS} times")

    def _start(self) -> Worker | None:
        """Start a worker for this thread; None after the end of the sweep."""
        with self._lock:
            if self._has_ended:
                return None
            child = self._local.child = Worker()
            self._children.add(child)
            return child


class Worker:
    """One worker process."""

    def __init__(self) -> None:
        source = str(Path(errors.__file__).parent.parent)
        paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
        # One thread for each worker, because workers share the cores, and counting computes nearly nothing.
        environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "diffprof.sweeps.worker"],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, encoding="utf-8",
        )  # fmt: skip

    def ask(self, task: Task) -> TaskOutcome | None:
        """Send a task and wait for its outcome; None if the process ended."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(task.to_json()) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except (OSError, ValueError):
            return None
        return read_answer(task, json.loads(line)) if line.endswith("\n") else None

    def end(self) -> int:
        """End the process, and return its exit code."""
        with contextlib.suppress(OSError):
            self.process.kill()
        code = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        return code
