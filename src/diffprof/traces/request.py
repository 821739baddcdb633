"""Check a request to explain or compare traces, and run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from os.path import realpath  # unlike Path.resolve, it takes links that lead in circles
from pathlib import Path

from diffprof.errors import RequestError
from diffprof.traces.analysis.comparison import compare_traces
from diffprof.traces.analysis.ranks import compare_ranks
from diffprof.traces.facts import GAP_THRESHOLD_NS
from diffprof.traces.result import TraceResult

GAP_MICROSECONDS = GAP_THRESHOLD_NS / 1000


def trace_files(places: Sequence[Path]) -> tuple[Path, ...]:
    """The given files, and those in given folders: files named like traces, or else all."""
    return tuple(file for place in places for file in (_files_in(place) if place.is_dir() else [place]))


def _files_in(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.name.endswith((".json", ".json.gz")) and file.is_file())
    traces = [file for file in files if "trace" in file.name] or files
    if not traces:
        raise RequestError(f"{folder} has no traces in it; they are files that end in .json or .json.gz.")
    return traces


@dataclass(frozen=True)
class TraceRequest:
    """Which traces to explain, and which files to write.

    One trace is explained; several are the ranks of one run; with `against`, one trace is compared with another.
    """

    files: tuple[Path, ...]
    against: Path | None = None
    gap_microseconds: float = GAP_MICROSECONDS
    """Shorter gaps are summed up without their causes."""
    overlay: Path | None = None
    """The file for a copy of the trace with the findings as tracks."""
    html: Path | None = None
    """The file for the HTML page, which must be different from the other files."""
    output: Path | None = None
    """The file for the answer, which must be different from the other files."""

    def __post_init__(self) -> None:
        if not 0 <= self.gap_microseconds < 1e9:
            raise RequestError(f"--gap must be a number of microseconds of 0 or more, not {self.gap_microseconds:g}.")
        for option, file in (("--against", self.against), ("--overlay", self.overlay)):
            if file is not None and len(self.files) > 1:
                raise RequestError(f"{option} takes one trace, not {len(self.files)}.")
        if len({realpath(file) for file in self.files}) < len(self.files):
            raise RequestError("The same trace is given twice; leave one out.")
        self._check_targets()

    @property
    def threshold_ns(self) -> int:
        return round(self.gap_microseconds * 1000)

    def _check_targets(self) -> None:
        """Refuse to write to a file that is read, or twice to the same file."""
        traces = {realpath(file) for file in (*self.files, *((self.against,) if self.against else ()))}
        options = {"--overlay": self.overlay, "--html": self.html, "-o": self.output}
        targets = {option: realpath(target) for option, target in options.items() if target is not None}
        for option, target in targets.items():
            if target in traces:
                raise RequestError(f"{options[option]} is the trace itself; name another file for {option}.")
        for option, other in combinations(targets, 2):
            if targets[option] == targets[other]:
                raise RequestError(f"{other} and {option} name the same file; name another one.")


def explain_request(request: TraceRequest) -> TraceResult:
    """Read and explain the traces of a request, and write its overlay."""
    # Imported here because a request can be checked without numpy.
    from diffprof.traces.analysis.explain import explain, explain_trace
    from diffprof.traces.reading.reader import read_trace

    if len(request.files) > 1:
        ranks = tuple(explain_trace(file, request.threshold_ns) for file in request.files)
        return TraceResult(ranks, ranks=compare_ranks(ranks))
    trace = read_trace(request.files[0])
    explanation = explain(trace, request.threshold_ns)
    if request.overlay is not None:
        from diffprof.traces.overlay import write_overlay
        from diffprof.traces.views.overlay_events import overlay_events

        write_overlay(trace, overlay_events(explanation), request.overlay)
    if request.against is None:
        return TraceResult((explanation,))
    before = explain_trace(request.against, request.threshold_ns)
    return TraceResult((explanation,), comparison=compare_traces(before, explanation))
