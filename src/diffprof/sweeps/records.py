"""The records of a sweep: its axes, a task, and a row of its result."""

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
"""The source of a row: a law, a dry run, a saved profile, or a measured run."""


@dataclass(frozen=True)
class SweepMeasurement:
    """How each request is measured."""

    warmup: int = 1
    iterations: int = 3
    gpus_per_task: float | None = None
    """GPUs of a cluster that are reserved for each task; None for one, if the cluster has any."""


@dataclass(frozen=True)
class Task:
    """One request of a sweep, and the accelerators to predict for."""

    request: Request
    gpus: tuple[str, ...] = ()
    measurement: SweepMeasurement | None = None

    @property
    def points(self) -> int:
        """The number of rows of the task."""
        return max(1, len(self.gpus))

    def to_json(self) -> dict[str, Any]:
        """The task as plain values, for a worker and for the store."""
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
    """The values of a sweep, of which all combinations are evaluated."""

    base: Request
    """What all requests share; its model is not used."""
    models: tuple[str, ...]
    arguments: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """The values of each call argument."""
    sizes: tuple[tuple[int, int], ...] = ()
    """Pairs of height and width, which are not combined with each other."""
    dtypes: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    measurement: SweepMeasurement | None = None

    @property
    def requests(self) -> int:
        """The number of requests."""
        lengths = (len(self.models), len(self.sizes) or 1, len(self.dtypes) or 1)
        return math.prod((*lengths, *map(len, self.arguments.values())))

    @property
    def points(self) -> int:
        """The number of rows of the table."""
        return self.requests * max(1, len(self.gpus))

    def tasks(self) -> Iterator[Task]:
        """Yield every request, model by model, so that a large sweep takes no memory."""
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
    """One point: a request, an accelerator if there are any, and its cost. None for unknown values."""

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
    """Peak of allocated memory: predicted or measured."""
    reserved_bytes: int | None
    device_bytes: int | None
    """Peak memory as nvidia-smi shows it."""
    fits: bool | None
    seconds: float | None
    """Time of one generation: predicted, or the median of the measured calls."""
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
    """The rows of a task, or one sentence that says why there are none."""

    task: Task
    rows: tuple[Row, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class SweepResult(Displayed):
    """The table of a sweep, in the order of its values, and its failures."""

    sweep: Sweep
    rows: tuple[Row, ...]
    failures: tuple[TaskOutcome, ...] = ()
    kept: int = 0
    """The number of requests that an earlier run of the sweep had answered."""

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
        """The plotly chart of the page: time over what was varied, or MACs without an accelerator."""
        return find_function("diffprof.sweeps.views.charts:sweep_chart")(self)

    def to_dataframe(self) -> Any:
        """The table as a pandas DataFrame; needs the extra `pandas`."""
        return find_function("diffprof.sweeps.views.files:data_frame")(self)

    def to_pandas(self) -> Any:
        """The same as `to_dataframe`."""
        return self.to_dataframe()
