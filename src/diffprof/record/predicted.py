"""How long a generation is expected to take on accelerators: plain, frozen values that know nothing of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from diffprof.record.display import Displayed, function_named

COMPUTE, BANDWIDTH, LAUNCHES, TRANSFERS, HOST = "compute", "bandwidth", "launches", "transfers", "host"
LIMITS = (COMPUTE, BANDWIDTH, LAUNCHES, TRANSFERS, HOST)
"""What a time can be limited by: products, moved bytes, many small kernels, weights that travel, or Python."""


@dataclass(frozen=True)
class PredictedComponent:
    """One component in all its calls."""

    total_seconds: float
    bound_seconds: float
    """No device of these peaks can be faster."""
    calls: int
    limited_by: str
    kinds: Mapping[str, float]
    """Seconds by kind of operation, waiting for the host and transfers among them: their sum is the total."""


@dataclass(frozen=True)
class PredictedTime:
    """One generation on one accelerator."""

    total_seconds: float
    low_seconds: float
    high_seconds: float
    """Nine of ten measured times are expected to lie between the two."""
    bound_seconds: float
    step_seconds: float
    """Of one denoising step, with what the pipeline does between the calls; 0 without steps."""
    components: Mapping[str, PredictedComponent]
    limited_by: str
    energy_joules: float | None
    """None where the board's power is not known."""
    price_usd: float | None
    """None where no price was given."""
    fits: bool | None
    """None where it is not known."""
    kinds: Mapping[str, float] = field(default_factory=dict)
    basis: str = "family"
    """What its numbers were fitted to: this ``device``, its ``family`` or ``none`` of both; or ``measured`` here."""


@dataclass(frozen=True)
class PredictionSettings:
    """How the pipeline is run, beside what was counted."""

    compiled: bool = False
    attention: str = "sdpa"
    """``sdpa``, or ``math`` for attention that is not fused."""
    offload: str = "none"
    quantize: Mapping[str, str] = field(default_factory=dict)
    """Component: library and kind, such as ``bitsandbytes:nf4``; ``*`` for denoisers and text encoders."""
    layerwise: Mapping[str, str] = field(default_factory=dict)
    """Component: the dtype that its layers are kept in; ``*`` for denoisers."""
    skip_rate: float = 0.0
    """Of the denoiser's calls, the share that a cache skips."""


@dataclass(frozen=True)
class Prediction(Displayed):
    """How long one request takes, by accelerator."""

    model: str
    settings: PredictionSettings
    accelerators: Mapping[str, PredictedTime]
    assumptions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The values of the saved file."""
        return cast("dict[str, Any]", function_named("diffprof.record.prediction_files:to_json")(self))

    def save(self, path: str | Path) -> Path:
        """Write the prediction to a JSON file; an existing file is replaced in one go."""
        return cast(Path, function_named("diffprof.record.prediction_files:save")(self, path))

    @staticmethod
    def load(path: str | Path) -> Prediction:
        """Read a prediction that `save` wrote."""
        return cast(Prediction, function_named("diffprof.record.prediction_files:load")(path))

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page with a chart."""
        return cast(Path, function_named("diffprof.advice.views.prediction_page:write_page")(self, path))
