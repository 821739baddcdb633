"""Log the points of a sweep to an experiment tracker: MLflow or Weights & Biases."""

from __future__ import annotations

import importlib
import time
from enum import Enum
from typing import Any, Protocol

from diffprof.errors import DiffprofError, MissingLibraryError, error_summary
from diffprof.sweeps.records import COLUMNS, Row

EXPERIMENT = "diffprof"
"""The experiment or project that points are logged to, unless the tracker's own environment variable names one."""

PARAMETERS = (
    *("model", "height", "width", "frames", "batch", "steps", "guidance", "dtype", "gpu"),
    *("limited_by", "basis", "source"),
)
"""Columns that describe the request; all others are results."""

METRICS = tuple(name for name in COLUMNS if name not in PARAMETERS)


class Tracker(str, Enum):
    """The supported trackers."""

    mlflow = "mlflow"
    wandb = "wandb"


class Log(Protocol):
    """A connection to a tracker."""

    def add(self, row: Row) -> None:
        """Log one point."""

    def close(self) -> None:
        """Finish logging."""


def open_log(tracker: Tracker) -> Log:
    """Connect to a tracker, which is configured by its own environment variables."""
    try:
        library = importlib.import_module(tracker.value)
    except ImportError as error:
        name = {Tracker.mlflow: "MLflow", Tracker.wandb: "Weights & Biases"}[tracker]
        raise MissingLibraryError(
            f'Logging to {name} needs its library; install it with `pip install "diffprof[{tracker.value}]"`.'
        ) from error
    try:
        return _MlflowLog() if tracker is Tracker.mlflow else _WandbLog(library)
    except Exception as error:
        raise log_error(tracker, error) from error


def log_error(tracker: Tracker, error: Exception) -> DiffprofError:
    """The error for a failure of a tracker."""
    return DiffprofError(
        f"{tracker.value} took no points ({error_summary(error)}); "
        "what was computed is kept, and the same command goes on from there."
    )


def parameters_of(row: Row) -> dict[str, Any]:
    """The parameters of a point."""
    return {name: getattr(row, name) for name in PARAMETERS if getattr(row, name) is not None}


def metrics_of(row: Row) -> dict[str, float]:
    """The metrics of a point."""
    return {name: float(getattr(row, name)) for name in METRICS if getattr(row, name) is not None}


def title_of(row: Row) -> str:
    """The name of a point in the tracker."""
    size = f"{row.width}x{row.height}" if row.width and row.height else ""
    steps = f"{row.steps} steps" if row.steps else ""
    return " ".join(part for part in (row.model, size, steps, row.gpu or "") if part)


class _MlflowLog:
    """Logs each point as a run of an MLflow experiment (MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME)."""

    def __init__(self) -> None:
        import os

        from mlflow.tracking import MlflowClient

        self._client = MlflowClient()
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        found = self._client.get_experiment_by_name(name)
        self._experiment = found.experiment_id if found is not None else self._client.create_experiment(name)

    def add(self, row: Row) -> None:
        from mlflow.entities import Metric, Param

        run = self._client.create_run(self._experiment, run_name=title_of(row))
        now = time.time_ns() // 1_000_000
        self._client.log_batch(
            run.info.run_id,
            metrics=[Metric(name, value, now, 0) for name, value in metrics_of(row).items()],
            params=[Param(name, str(value)) for name, value in parameters_of(row).items()],
        )
        self._client.set_terminated(run.info.run_id)

    def close(self) -> None:
        """Nothing is left: every run was ended."""


class _WandbLog:
    """Logs each point as a run of a Weights & Biases project (WANDB_PROJECT, WANDB_MODE)."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def add(self, row: Row) -> None:
        import os

        run = self._library.init(
            project=os.environ.get("WANDB_PROJECT") or EXPERIMENT, name=title_of(row), config=parameters_of(row),
            reinit="finish_previous", settings=self._library.Settings(silent=True),
        )  # fmt: skip
        run.log(metrics_of(row))
        run.finish()

    def close(self) -> None:
        """Nothing is left: every run was ended."""
