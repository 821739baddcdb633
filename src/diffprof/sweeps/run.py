"""Run a sweep: read stored results, compute the others, and store them."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from diffprof.catalogue.names import resolve
from diffprof.errors import MissingLibraryError, RequestError
from diffprof.laws.selection import can_count
from diffprof.record.progress import Activity, Progress, ProgressCallback, ProgressEvent
from diffprof.record.request import Request
from diffprof.record.saved_profiles import load_saved, saved_file
from diffprof.render.progress import describe_to
from diffprof.sweeps.axes import create_sweep
from diffprof.sweeps.evaluate import evaluate_known, is_known
from diffprof.sweeps.records import Row, Sweep, SweepMeasurement, SweepResult, Task, TaskOutcome
from diffprof.sweeps.store import SweepStore
from diffprof.sweeps.trackers import Log, Tracker, log_error, open_log

MAX_UNCONFIRMED_POINTS = 100_000
"""More points than this need a confirmation."""

MAX_UNCONFIRMED_COUNTS = 2_000
"""More requests than this that have to be counted or measured, which takes seconds each, need a confirmation."""

MAX_POINTS = 2_000_000

AT_ONCE = 200
"""The number of results that are stored in one transaction."""


class EngineName(str, Enum):
    """Where the points that need work are computed."""

    local = "local"
    ray = "ray"


@dataclass(frozen=True)
class SweepOptions:
    """How a sweep is run."""

    engine: EngineName = EngineName.local
    address: str | None = None
    """The address of a Ray cluster; None for a local one."""
    workers: int | None = None
    """Worker processes on this machine; None for one per core, at most four."""
    store: Path | None = None
    fresh: bool = False
    """Whether to compute every point again."""
    tracker: Tracker | None = None


class Engine(Protocol):
    """Evaluates tasks in other processes or on other machines."""

    def answers(self, tasks: Iterable[Task]) -> Iterator[TaskOutcome]:
        """Yield the outcome of every task as it becomes ready."""


Confirm = Callable[[str], bool]
"""Asks for confirmation of a very large sweep, with a message about its size."""


def run_sweep(
    sweep: Sweep, options: SweepOptions | None = None, progress: Progress | None = None, confirm: Confirm | None = None
) -> SweepResult:
    """Evaluate every point; failures are listed, and do not stop the others."""
    options = options or SweepOptions()
    check_sweep(sweep)
    if sweep.measurement is not None and options.engine is EngineName.local and not can_count():
        raise MissingLibraryError(
            "A measured sweep needs torch and diffusers, which are not installed; "
            'install them with `pip install "diffprof[torch]"`.'
        )
    check_amount(sweep, confirm)
    log = open_log(options.tracker) if options.tracker is not None else None
    with contextlib.closing(SweepStore(options.store)) as store, _close_after(log):
        return _Run(sweep, options, store, log, progress).result()


def check_sweep(sweep: Sweep) -> None:
    """Refuse unknown models and accelerators, and varied saved profiles, before anything is computed."""
    for model in sweep.models:
        file = saved_file(model)
        if file is None:
            resolve(model)
            continue
        load_saved(file)
        varied = [*sweep.arguments, *(["sizes"] if sweep.sizes else []), *(["dtypes"] if sweep.dtypes else [])]
        if varied or sweep.measurement is not None:
            what = f"{varied[0]} cannot vary" if varied else "it cannot be measured"
            raise RequestError(f"{model} is a saved profile: {what}, only the accelerators can.")
    from diffprof.advice.predict import PredictionRequest, check_request

    for dtype in sweep.dtypes or (sweep.base.dtype,):
        check_request(PredictionRequest(sweep.gpus, dtype=dtype))


def check_amount(sweep: Sweep, confirm: Confirm | None = None) -> None:
    """Ask for confirmation before a very large sweep."""
    if sweep.points > MAX_POINTS:
        raise RequestError(
            f"This sweep has {sweep.points:,} points, more than the limit of {MAX_POINTS:,}; "
            "use larger steps, or several sweeps."
        )
    # Whether a request needs a dry run depends mostly on its model, so not all of a million have to be checked.
    tasks = [Task(replace(sweep.base, model=model), sweep.gpus, sweep.measurement) for model in sweep.models]
    unknown = [task for task in tasks if not is_known(task)]
    slow = sweep.requests // len(sweep.models) * len(unknown)
    if sweep.points <= MAX_UNCONFIRMED_POINTS and slow <= MAX_UNCONFIRMED_COUNTS:
        return
    known = "" if slow <= MAX_UNCONFIRMED_COUNTS else f", and {slow:,} of its requests take seconds each"
    message = f"This sweep has {sweep.points:,} points{known}"
    if confirm is None or not confirm(message):
        raise RequestError(f"{message}; add --yes to run it anyway, or use larger steps.")


class _Run:
    """One run of a sweep."""

    def __init__(
        self, sweep: Sweep, options: SweepOptions, store: SweepStore, log: Log | None, progress: Progress | None
    ) -> None:
        self._sweep, self._options, self._store, self._log, self._progress = sweep, options, store, log, progress
        self._rows: dict[int, tuple[Row, ...]] = {}
        self._failures: dict[int, TaskOutcome] = {}
        self._kept = 0
        self._began = time.monotonic()

    def result(self) -> SweepResult:
        """Evaluate every point, in the order of the sweep."""
        with contextlib.ExitStack() as until_the_end:
            engine: Engine | None = None
            if self._options.engine is EngineName.ray:
                # Connect first, so that a missing cluster is reported even if it is not needed.
                engine = self._reach_cluster(until_the_end)
            slow = self._answer_known()
            if slow:
                engine = engine or until_the_end.enter_context(self._engine(len(slow)))
                numbers = {id(task): number for number, task in slow}
                for outcome in engine.answers(task for _, task in slow):
                    self._take(numbers[id(outcome.task)], outcome)
        rows = tuple(row for number in sorted(self._rows) for row in self._rows[number])
        failures = tuple(self._failures[number] for number in sorted(self._failures))
        return SweepResult(self._sweep, rows, failures, self._kept)

    def _reach_cluster(self, until_the_end: contextlib.ExitStack) -> Engine | None:
        """Connect to the cluster whose address was given; a local one is only started if it is needed."""
        from diffprof.sweeps.ray_cluster import import_ray

        import_ray()
        return until_the_end.enter_context(self._engine(1)) if self._options.address is not None else None

    def _answer_known(self) -> list[tuple[int, Task]]:
        """Evaluate tasks that are stored or need no dry run; returns the others with their positions in the sweep."""
        slow: list[tuple[int, Task]] = []
        numbered = enumerate(self._sweep.tasks())
        while some := list(itertools.islice(numbered, AT_ONCE)):
            with self._store.together():
                for number, task in some:
                    known = None if self._options.fresh else self._store.rows(task)
                    if known is not None:
                        self._kept += 1
                        self._take(number, TaskOutcome(task, known), is_known=True)
                    elif (outcome := evaluate_known(task)) is not None:
                        self._take(number, outcome)
                    else:
                        slow.append((number, task))
        return slow

    @contextlib.contextmanager
    def _engine(self, tasks: int) -> Iterator[Engine]:
        options, measurement = self._options, self._sweep.measurement
        if options.engine is EngineName.ray:
            from diffprof.sweeps.ray_cluster import RayCluster

            with contextlib.closing(RayCluster(options.address, measurement)) as cluster:
                yield cluster
            return
        from diffprof.sweeps.workers import WorkerProcesses, usual_workers

        # Measured runs would slow each other down.
        usual = usual_workers() if measurement is None else 1
        yield WorkerProcesses(min(options.workers or usual, tasks))

    def _take(self, number: int, outcome: TaskOutcome, is_known: bool = False) -> None:
        if outcome.error is not None:
            self._failures[number] = outcome
        else:
            self._rows[number] = outcome.rows
            if not is_known:
                self._store.keep(outcome.task, outcome.rows)
            self._log_rows(outcome)
        self._report(str(outcome.task.request.model))

    def _log_rows(self, outcome: TaskOutcome) -> None:
        tracker = self._options.tracker
        if self._log is None or tracker is None or self._store.is_logged(outcome.task, tracker.value):
            return
        try:
            for row in outcome.rows:
                self._log.add(row)
        except Exception as error:
            raise log_error(tracker, error) from error
        self._store.mark_logged(outcome.task, tracker.value)

    def _report(self, model: str) -> None:
        if self._progress is None:
            return
        done, total = len(self._rows) + len(self._failures), self._sweep.requests
        computed = done - self._kept
        left = (time.monotonic() - self._began) / computed * (total - done) if computed else None
        self._progress(ProgressEvent(Activity.sweeping, model, done, total, remaining_seconds=left))


@contextlib.contextmanager
def _close_after(log: Log | None) -> Iterator[None]:
    try:
        yield
    finally:
        if log is not None:
            log.close()


def sweep(
    models: str | Sequence[str],
    *,
    measure: bool = False,
    warmup: int = 1,
    iterations: int = 3,
    gpus_per_task: float | None = None,
    random_weights: bool = False,
    device: str | None = None,
    offload: str | None = None,
    seed: int | None = None,
    scheduler: str | None = None,
    enable: str | Sequence[str] = (),
    arguments: dict[str, Any] | None = None,
    pipeline_defaults: bool = False,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    store: str | Path | None = None,
    fresh: bool = False,
    to: str | None = None,
    yes: bool = False,
    progress: ProgressCallback | None = None,
    **axes: Any,
) -> SweepResult:
    """Evaluate every combination of models, sizes, steps and accelerators.

    `axes` are those of the command line: ``heights``, ``widths``, ``sizes``, ``frames``, ``steps``, ``guidances``,
    ``batches``, ``dtypes`` and ``gpus``; each is a value, a string such as ``"512..2048:64"``, or a list of both.
    `arguments` are further call arguments, the same for every point. With `measure`, every request is run and measured.
    """
    base = Request.create(
        "", arguments, enable=enable, seed=seed, scheduler=scheduler, random_weights=random_weights, device=device,
        offload=offload, pipeline_defaults=pipeline_defaults,
    )  # fmt: skip
    measurement = SweepMeasurement(warmup, iterations, gpus_per_task) if measure else None
    made = create_sweep(base, measurement, models=models, **axes)
    options = SweepOptions(
        _find_member(EngineName, engine, "engine"), address, workers, Path(store) if store is not None else None, fresh,
        None if to is None else _find_member(Tracker, to, "tracker"),
    )  # fmt: skip
    return run_sweep(made, options, describe_to(progress), lambda message: yes)


def _find_member(kinds: type[Any], name: str, what: str) -> Any:
    try:
        return kinds(name)
    except ValueError:
        raise RequestError(
            f"There is no {what} {name!r}; there are {', '.join(kind.value for kind in kinds)}."
        ) from None
