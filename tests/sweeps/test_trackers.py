"""Points are logged to the tracker that people already have."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from diffprof.errors import DiffprofError, MissingLibraryError
from diffprof.sweeps.run import SweepOptions, run_sweep
from diffprof.sweeps.trackers import Tracker, open_log
from tests.sweeps.saved_sweeps import saved_sweep


@pytest.fixture
def tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """MLflow with its files in a folder of this test."""
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow.tracking import MlflowClient

    return lambda: MlflowClient()


def test_every_point_is_a_run_of_mlflow_and_is_logged_once(tracking: Any, tmp_path: Path) -> None:
    sweep = saved_sweep(tmp_path)
    options = SweepOptions(tracker=Tracker.mlflow)
    rows = run_sweep(sweep, options).rows
    run_sweep(sweep, options)
    client = tracking()
    runs = client.search_runs([client.get_experiment_by_name("diffprof").experiment_id])
    assert len(runs) == len(rows) == 4
    logged = {(run.data.params["steps"], run.data.params["gpu"]): run.data.metrics for run in runs}
    for row in rows:
        metrics = logged[str(row.steps), str(row.gpu)]
        assert metrics["seconds"] == pytest.approx(row.seconds)
        assert metrics["macs"] == float(row.macs)


def test_every_point_is_a_run_of_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []

    class Run(SimpleNamespace):
        def log(self, metrics: dict[str, float]) -> None:
            self.metrics = metrics

        def finish(self) -> None:
            self.finished = True

    def init(**options: Any) -> Run:
        runs.append(Run(**options))
        return runs[-1]

    module = ModuleType("wandb")
    module.init, module.Settings = init, SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    rows = run_sweep(saved_sweep(tmp_path), SweepOptions(tracker=Tracker.wandb)).rows
    assert [(run.config["steps"], run.config["gpu"]) for run in runs] == [(row.steps, row.gpu) for row in rows]
    assert all(run.finished and run.project == "diffprof" for run in runs)


@pytest.mark.parametrize("tracker", list(Tracker))
def test_without_its_library_one_sentence_says_how_to_get_it(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, tracker.value, None)
    with pytest.raises(MissingLibraryError, match=rf'pip install "diffprof\[{tracker.value}\]"'):
        open_log(tracker)


def test_a_tracker_that_takes_nothing_is_one_sentence_and_the_points_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**options: Any) -> None:
        raise OSError("no route to host")

    module = ModuleType("wandb")
    module.init, module.Settings = init, SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    sweep = saved_sweep(tmp_path)
    with pytest.raises(DiffprofError, match=r"wandb took no points \(OSError: no route to host\); what was computed"):
        run_sweep(sweep, SweepOptions(tracker=Tracker.wandb))
    assert run_sweep(sweep).kept == 1
