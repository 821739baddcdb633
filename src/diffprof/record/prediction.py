"""The predicted time of a generation on accelerators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from diffprof.record.execution import Execution
from diffprof.record.recorded_request import RecordedRequest
from diffprof.record.results import Result, unknown_words
from diffprof.record.run_settings import RunSettings

COMPUTE, BANDWIDTH, LAUNCHES, TRANSFERS, HOST = "compute", "bandwidth", "launches", "transfers", "host"
LIMITS = (COMPUTE, BANDWIDTH, LAUNCHES, TRANSFERS, HOST)
"""The limits of a time: products, moved bytes, many small kernels, transferred weights, or Python."""

BASES = ("device", "family", "none", "measured")
"""What the numbers of an accelerator were fitted to: itself, its family, neither; or they were measured on it."""


@dataclass(frozen=True)
class PredictedComponent:
    """The predicted time of one component in all its calls."""

    total_seconds: float
    bound_seconds: float
    """The time with these peaks, which no device can beat."""
    calls: int
    limited_by: str
    kinds: Mapping[str, float]
    """Seconds by kind of operation, including waiting for the host and transfers; their sum is the total."""


@dataclass(frozen=True)
class PredictedTime:
    """The predicted time of one generation on one accelerator."""

    total_seconds: float
    low_seconds: float
    high_seconds: float
    """Nine of ten measured times are expected to be in this interval."""
    bound_seconds: float
    step_seconds: float
    """Time of one denoising step, including the pipeline's work between calls; 0 without steps."""
    components: Mapping[str, PredictedComponent]
    limited_by: str
    energy_joules: float | None
    """None if the power of the board is not known."""
    price_usd: float | None
    """None if no price was given."""
    fits: bool | None
    """Whether it fits; None if that is not known."""
    kinds: Mapping[str, float] = field(default_factory=dict)
    basis: str = "family"
    """What the numbers were fitted to: this ``device``, its ``family`` or ``none``; or ``measured`` here."""


@dataclass(frozen=True)
class Prediction(Result):
    """The predicted time of one request, by accelerator."""

    format_name = "diffprof-prediction"
    command = "diffprof predict MODEL"
    page = "diffprof.advice.views.prediction_page:prediction_html"

    model: str
    settings: RunSettings
    accelerators: Mapping[str, PredictedTime]
    assumptions: tuple[str, ...] = ()
    request: RecordedRequest | None = None
    """The request; None in a file of an earlier version."""
    execution: Execution | None = None
    """How the pipeline executes the request."""

    def problems(self) -> Iterator[str]:
        """Problems with the limits and bases of times."""
        for time in self.accelerators.values():
            limits = [time.limited_by, *(component.limited_by for component in time.components.values())]
            yield from unknown_words("basis", [time.basis], BASES)
            yield from unknown_words("limited_by", limits, LIMITS)

    def __repr__(self) -> str:
        times = ", ".join(f"{name} {time.total_seconds:.3g} s" for name, time in self.accelerators.items())
        return f"<Prediction for {self.model}: {times}>"
