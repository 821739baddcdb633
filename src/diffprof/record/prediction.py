"""How long a generation is expected to take on accelerators: plain, frozen values that know nothing of torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from diffprof.record.execution import Execution
from diffprof.record.recorded_request import RecordedRequest
from diffprof.record.results import Result, unknown_words
from diffprof.record.run_settings import RunSettings

COMPUTE, BANDWIDTH, LAUNCHES, TRANSFERS, HOST = "compute", "bandwidth", "launches", "transfers", "host"
LIMITS = (COMPUTE, BANDWIDTH, LAUNCHES, TRANSFERS, HOST)
"""What a time can be limited by: products, moved bytes, many small kernels, weights that travel, or Python."""

BASES = ("device", "family", "none", "measured")
"""What the numbers of an accelerator were fitted to: itself, its family, neither; or they were measured on it."""


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
    """Time of one denoising step, including the pipeline's work between calls; 0 without steps."""
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
class Prediction(Result):
    """How long one request takes, by accelerator."""

    format_name = "diffprof-prediction"
    command = "diffprof predict MODEL"
    page = "diffprof.advice.views.prediction_page:prediction_html"

    model: str
    settings: RunSettings
    accelerators: Mapping[str, PredictedTime]
    assumptions: tuple[str, ...] = ()
    request: RecordedRequest | None = None
    """What was asked for; None in a file of an earlier version."""
    execution: Execution | None = None
    """What the pipeline makes of the request."""

    def problems(self) -> Iterator[str]:
        """Problems with what limits each time, and with its basis."""
        for time in self.accelerators.values():
            limits = [time.limited_by, *(component.limited_by for component in time.components.values())]
            yield from unknown_words("basis", [time.basis], BASES)
            yield from unknown_words("limited_by", limits, LIMITS)

    def __repr__(self) -> str:
        times = ", ".join(f"{name} {time.total_seconds:.3g} s" for name, time in self.accelerators.items())
        return f"<Prediction for {self.model}: {times}>"
