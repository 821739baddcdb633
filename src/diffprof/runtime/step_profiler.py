"""`diffprof.StepProfiler`: times denoising steps through ``callback_on_step_end``.

steps = diffprof.StepProfiler()
pipe("a cat", callback_on_step_end=steps)
print(steps.seconds)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class StepProfiler:
    """A ``callback_on_step_end`` that times denoising steps, and then calls your own `callback`.

    A callback sees only the ends of steps, so the first step of each call has no time (None). `diffprof.measuring`
    times it, too.
    """

    def __init__(
        self,
        callback: Callable[[Any, int, Any, dict[str, Any]], dict[str, Any]] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._callback, self._clock = callback, clock
        self._ended: float | None = None
        self.seconds: list[float | None] = []
        """The time of each step, over all calls; None for the first of each call."""
        self.timesteps: list[int] = []

    def __call__(self, pipeline: Any, step: int, timestep: Any, callback_kwargs: dict[str, Any]) -> dict[str, Any]:
        """Called by the pipeline at the end of each step."""
        _wait_for_device(pipeline)
        now = self._clock()
        self.seconds.append(None if step == 0 or self._ended is None else now - self._ended)
        self.timesteps.append(int(timestep))
        result = self._callback(pipeline, step, timestep, callback_kwargs) if self._callback else callback_kwargs
        # Read again, so that the time of the callback is not part of the next step.
        self._ended = self._clock()
        return result

    @property
    def mean_seconds(self) -> float | None:
        """The mean of the known times; None if there are none."""
        known = [one for one in self.seconds if one is not None]
        return sum(known) / len(known) if known else None

    def __repr__(self) -> str:
        mean = self.mean_seconds
        return f"<StepProfiler: {len(self.seconds)} steps{'' if mean is None else f', {mean:.4g} s each'}>"


def _wait_for_device(pipeline: Any) -> None:
    """Wait for the device, because launched work may not have finished."""
    import torch

    device = getattr(pipeline, "_execution_device", None)
    kind = getattr(device, "type", "cpu")
    if kind == "cuda":
        torch.cuda.synchronize(device)
    elif kind == "mps":
        torch.mps.synchronize()
    elif kind == "xpu":
        torch.xpu.synchronize(device)
