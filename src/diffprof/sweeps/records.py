"""A sweep: what is varied, one task of it, and one row of its result. Plain, frozen values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from diffprof.record.display import Displayed, find_function
from diffprof.record.request import Request

LAW, COUNT, PROFILE, RUN = "law", "count", "profile", "run"
"""Where the figures of a row come from: a law, a dry run, a saved profile, or a measured run."""


@dataclass(frozen=True)
class SweepMeasurement:
    """How each request is run for real, where it is not only counted."""

    warmup: int = 1
    iterations: int = 3
    gpus_per_task: float | None = None
    """On a cluster: GPUs that one task has to itself; None for one if the cluster has any."""


@dataclass(frozen=True)
class Task:
    """One request of a sweep, and the accelerators that it is answered for."""

    request: Request
    gpus: tuple[str, ...] = ()
    measurement: SweepMeasurement | None = None

    @property
    def points(self) -> int:
        """How many rows it becomes."""
        return max(1, len(self.gpus))

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a worker and for the store."""
        request = {one.name: getattr(self.request, one.name) for one in fields(Request) if one.name in _SENT}
        measured = None if self.measurement is None else vars(self.measurement)
        return {**request, "model": str(self.request.model), "gpus": list(self.gpus), "measurement": measured}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Task:
        """The task that `to_json` wrote."""
        sent = {name: values[name] for name in _SENT if name != "enable"}
        request = Request(values["model"], enable=tuple(values["enable"]), **sent)
        measurement = values["measurement"]
        return cls(request, tuple(values["gpus"]), None if measurement is None else SweepMeasurement(**measurement))


_SENT = (
    *("arguments", "dtype", "scheduler", "enable", "seed", "device", "offload", "random_weights"),
    *("pipeline_defaults", "assume_defaults"),
)
"""The fields of a request that a sweep can set."""


@dataclass(frozen=True)
class Sweep:
    """The values that are combined, each with each."""

    base: Request
    """What all requests have in common; its model is not used."""
    models: tuple[str, ...]
    arguments: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Call argument: its values."""
    sizes: tuple[tuple[int, int], ...] = ()
    """Height and width together, instead of each with each."""
    dtypes: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    measurement: SweepMeasurement | None = None

    @property
    def requests(self) -> int:
        """How many requests it has."""
        lengths = (len(self.models), len(self.sizes) or 1, len(self.dtypes) or 1)
        return math.prod((*lengths, *map(len, self.arguments.values())))

    @property
    def points(self) -> int:
        """How many rows its table has."""
        return self.requests * max(1, len(self.gpus))

    def tasks(self) -> Iterator[Task]:
        """Every request, model by model; made one at a time, so that a large sweep takes no memory."""
        names = list(self.arguments)
        sizes: tuple[Any, ...] = self.sizes or (None,)
        for model, dtype, size, *values in itertools.product(
            self.models, self.dtypes or (self.base.dtype,), sizes, *self.arguments.values()
        ):
            arguments = {**self.base.arguments, **dict(zip(names, values, strict=True))}
            if size is not None:
                arguments |= {"height": size[0], "width": size[1]}
            yield Task(replace(self.base, model=model, dtype=dtype, arguments=arguments), self.gpus, self.measurement)


@dataclass(frozen=True)
class Row:
    """One point: a request, an accelerator where one was named, and what it takes. None: not known, or not asked."""

    model: str
    height: int | None
    width: int | None
    frames: int | None
    batch: int | None
    steps: int | None
    guidance: float | None
    dtype: str | None
    gpu: str | None
    macs: int
    flops: int
    other_flops: int
    parameters: int
    weight_bytes: int
    executed_steps: int
    step_macs: int
    """MACs of the denoiser in one step."""
    allocated_bytes: int | None
    """Most memory that is allocated at once: predicted, or of a measured run."""
    reserved_bytes: int | None
    device_bytes: int | None
    """As nvidia-smi shows it."""
    fits: bool | None
    seconds: float | None
    """Of one generation: predicted, or the median of the measured calls."""
    low_seconds: float | None
    high_seconds: float | None
    """The predicted interval, or the shortest and the longest measured call."""
    bound_seconds: float | None
    limited_by: str | None
    energy_joules: float | None
    basis: str | None
    """What the prediction was fitted to: this ``device``, its ``family`` or ``none`` of both."""
    source: str
    """`LAW`, `COUNT`, `PROFILE` or `RUN`."""


COLUMNS = tuple(one.name for one in fields(Row))


@dataclass(frozen=True)
class TaskOutcome:
    """What became of a task: its rows, or one sentence that says why there are none."""

    task: Task
    rows: tuple[Row, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class SweepResult(Displayed):
    """The table of a sweep, in the order in which its values were given, and what failed."""

    sweep: Sweep
    rows: tuple[Row, ...]
    failures: tuple[TaskOutcome, ...] = ()
    kept: int = 0
    """Of the requests, those that an earlier run of the sweep had answered."""

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<SweepResult of {len(self.rows)} points{failed}>"

    def save(self, path: str | Path) -> Path:
        """Write the table to a .csv, .json, .parquet, .md, .html or .txt file."""
        return cast(Path, find_function("diffprof.sweeps.views.files:write_file")(self, Path(path)))

    def chart(self) -> Any:
        """The plotly figure of the page: time over what was varied, or MACs where no accelerator was named."""
        return find_function("diffprof.sweeps.views.charts:sweep_chart")(self)

    def to_dataframe(self) -> Any:
        """The table as a pandas DataFrame; needs the extra `pandas`."""
        return find_function("diffprof.sweeps.views.files:data_frame")(self)

    def to_pandas(self) -> Any:
        """The same as `to_dataframe`."""
        return self.to_dataframe()
