"""Sweeps over saved profiles: real points that need neither torch nor a model."""

from __future__ import annotations

from pathlib import Path

from diffprof.record.request import Request
from diffprof.sweeps.axes import create_sweep
from diffprof.sweeps.evaluate import evaluate
from diffprof.sweeps.records import Row, Sweep
from tests.sample_profiles import stable_diffusion


def saved_sweep(folder: Path, models: int = 2, gpus: str = "l4,h100-sxm") -> Sweep:
    """A sweep over so many profiles, each with another number of steps."""
    files = [
        str(stable_diffusion(steps=steps, unet_calls=steps + 1).save(folder / f"{steps}.json"))
        for steps in range(10, 10 + models)
    ]
    return create_sweep(Request(""), models=files, gpus=gpus)


def rows_in_process(sweep: Sweep) -> set[Row]:
    """The rows that every other engine has to return, too."""
    return {row for task in sweep.tasks() for row in evaluate(task).rows}
