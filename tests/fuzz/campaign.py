"""Many cases in worker processes: a worker that dies or hangs is a failure of its case, and another one goes on."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

BUSY_SECONDS = 120
"""A worker that takes so much of the processor for one case is ended; a shorter one says itself that it took long."""
WAITING_SECONDS = 300
"""A worker that takes nothing of the processor, and does not even ask for it, waits for what never comes."""
LOOK_SECONDS = 5

Result = Mapping[str, Any]


@dataclass
class Summary:
    """What a campaign found."""

    seed: int
    cases: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    failures: list[Result] = field(default_factory=list)
    slowest: Result = field(default_factory=lambda: {"seconds": 0.0})
    peak_bytes: int = 0
    cpu_seconds: Counter[str] = field(default_factory=Counter)
    """Of the processor, by kind of file."""

    def add(self, result: Result) -> None:
        """Count a case."""
        self.cases[result["subject"]] += 1
        self.codes.update(result["codes"])
        self.cpu_seconds[result["subject"]] += result["seconds"]
        self.peak_bytes = max(self.peak_bytes, result["peak"])
        if result["seconds"] > self.slowest["seconds"]:
            self.slowest = result
        if result["problems"]:
            self.failures.append(result)

    @property
    def figures(self) -> str:
        """How many cases there were and what they took, on one line."""
        return (
            f"seed {self.seed}: {sum(self.cases.values()):,} cases, {len(self.failures):,} failed, "
            f"slowest {self.slowest['seconds']:.1f} s (case {self.slowest.get('case')}), "
            f"largest process {self.peak_bytes / 1e9:.2f} GB, "
            f"{1000 * sum(self.cpu_seconds.values()) / max(1, sum(self.cases.values())):.0f} ms of a core each"
        )

    @property
    def text(self) -> str:
        """The figures, and the kinds of failures with an example of each."""
        lines = [
            self.figures,
            ", ".join(
                f"{name} {count:,} ({1000 * self.cpu_seconds[name] / count:.0f} ms)"
                for name, count in sorted(self.cases.items())
            ),
            "exit codes: " + ", ".join(f"{code}: {count:,}" for code, count in sorted(self.codes.items())),
        ]
        kinds: dict[str, list[Result]] = {}
        for failure in self.failures:
            kinds.setdefault(_kind(failure), []).append(failure)
        for kind, failures in sorted(kinds.items(), key=lambda item: -len(item[1])):
            numbers = ", ".join(str(failure["case"]) for failure in failures[:5])
            lines.append(f"{len(failures)} x {kind}\n    cases {numbers}: {' '.join(failures[0]['commands'][0])}")
        return "\n".join(lines)


def _kind(failure: Result) -> str:
    """The first problem without what differs from case to case."""
    return re.sub(r"/\S+", "PATH", re.sub(r"\d+", "N", f"{failure['subject']}: {failure['problems'][0]}"))[:220]


@dataclass(frozen=True)
class Campaign:
    """Cases to run, by number: the same seed and number are the same case everywhere."""

    seed: int
    first: int
    cases: int
    subjects: tuple[str, ...] = ()
    few_folders: bool = False
    failures: Path | None = None
    """Where the files of failed cases are kept."""

    def run(self, workers: int, progress: Callable[[str], None] = lambda text: None) -> Summary:
        """Run all of them."""
        summary = Summary(self.seed)
        with ThreadPoolExecutor(workers) as pool:
            parts = [pool.submit(self._run_part, number, workers, summary, progress) for number in range(workers)]
            for part in parts:
                part.result()
        return summary

    def _run_part(self, number: int, stride: int, summary: Summary, progress: Callable[[str], None]) -> None:
        following, end = self.first + number, self.first + self.cases
        # In memory where there is such a place: the databases of a campaign are flushed to it very often.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="diffprof-fuzz-", dir=memory) as place:
            while following < end:
                for result in self._worker(Path(place), following, end, stride):
                    summary.add(result)
                    if result["problems"]:
                        progress(f"case {result['case']} ({result['subject']}): {result['problems'][0]:.300}")
                    following = result["case"] + stride
                    if not sum(summary.cases.values()) % 500:
                        progress(summary.figures)

    def _worker(self, place: Path, first: int, end: int, stride: int) -> Iterator[Result]:
        """The results of one worker; the last one says so if it died."""
        plan = {
            "seed": self.seed, "cases": [first, end], "stride": stride, "subjects": self.subjects,
            "few_folders": self.few_folders, "place": str(place),
            "failures": str(self.failures.resolve()) if self.failures else None,
        }  # fmt: skip
        command = [sys.executable, "-m", "tests.fuzz.worker", json.dumps(plan)]
        following = first
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            while (line := next_line(child)) is not None:
                if not line:
                    break
                result = json.loads(line)
                following = result["case"] + stride
                yield result
            else:
                child.kill()
                child.wait()
                yield _dead(following, f"hangs: over {BUSY_SECONDS} s of the processor, or waits forever")
                return
        if following < end:
            errors = (
                (place / "stderr.txt").read_text(errors="replace")[-600:] if (place / "stderr.txt").is_file() else ""
            )
            yield _dead(following, f"the process ended with {child.returncode}: {errors}")


def next_line(child: subprocess.Popen[bytes]) -> bytes | None:
    """The next line of a worker, empty at its end; None if it hangs.

    A clock on the wall would call a busy machine a hang: it is the worker's own time that counts.
    """
    assert child.stdout is not None
    begun, waited = _cpu_seconds(child.pid), 0.0
    before = begun
    while not select.select([child.stdout], [], [], LOOK_SECONDS)[0]:
        now = _cpu_seconds(child.pid)
        waited = waited + LOOK_SECONDS if now == before and not _is_ready(child.pid) else 0.0
        before = now
        if now - begun > BUSY_SECONDS or waited > WAITING_SECONDS:
            return None
    return child.stdout.readline()


def _cpu_seconds(process: int) -> float:
    spent = psutil.Process(process).cpu_times()
    return float(spent.user + spent.system)


def _is_ready(process: int) -> bool:
    """Whether the process would go on if it got the processor."""
    return psutil.Process(process).status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)


def _dead(case: int, problem: str) -> Result:
    return {
        "case": case, "subject": "unknown", "commands": [[]], "codes": [], "problems": [problem], "seconds": 0.0,
        "peak": 0, "messages": [],
    }  # fmt: skip


__all__: Sequence[str] = ["Campaign", "Summary", "next_line"]
