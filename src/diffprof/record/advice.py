"""The result of `advise`: options for a generation, with their time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from diffprof.record.execution import Execution
from diffprof.record.fit import HostMemory, MemoryPeak
from diffprof.record.recorded_request import RecordedRequest
from diffprof.record.results import Result, unknown_words
from diffprof.record.run_settings import RunSettings

TIME, MEMORY, COST, ENERGY = "time", "memory", "cost", "energy"
GOALS = (TIME, MEMORY, COST, ENERGY)

NO_RISK, LOW, MEDIUM, HIGH = "none", "low", "medium", "high"
RISKS = (NO_RISK, LOW, MEDIUM, HIGH)
"""How likely the result looks worse: the same computation; rounding; less computation; another model."""


@dataclass(frozen=True)
class Option:
    """An option for the generation, with its time and memory on the accelerator."""

    changes: tuple[str, ...]
    """Differences from the request: ``steps 20``, ``offload model``...; empty for the request itself."""
    model: str
    settings: RunSettings
    risk: str
    """One of `RISKS`."""
    risks: tuple[str, ...]
    """The changes that cause the risk."""
    results: int
    """The number of images or videos of one call."""
    total_seconds: float
    """Time of one call; the values below are also for one call."""
    low_seconds: float
    high_seconds: float
    energy_joules: float | None
    price_usd: float | None
    peak: MemoryPeak
    host: HostMemory
    fits: bool
    on_front: bool = False
    """Whether no other option that fits is both faster and smaller."""
    code: tuple[str, ...] = ()
    """A diffusers program for it."""
    fit_command: str = ""
    predict_command: str = ""
    """The command that reproduces the prediction."""

    @property
    def name(self) -> str:
        return " + ".join(self.changes) or "as requested"

    @property
    def seconds(self) -> float:
        """Seconds for one image or video."""
        return self.total_seconds / self.results


@dataclass(frozen=True)
class Advice(Result):
    """Options for a generation on an accelerator, ranked by a goal."""

    format_name = "diffprof-advice"
    command = "diffprof advise MODEL"
    page = "diffprof.advice.views.advice_page:advice_html"

    model: str
    accelerator: str
    goal: str
    requested: Option
    options: tuple[Option, ...]
    """The options that fit and are within the limits, the best for the goal first."""
    tried: int
    """The number of options that were evaluated."""
    max_memory_bytes: int | None = None
    max_seconds: float | None = None
    usable_bytes: int | None = None
    assumptions: tuple[str, ...] = field(default=())
    request: RecordedRequest | None = None
    """The request; None in a file of an earlier version."""
    execution: Execution | None = None
    """How the pipeline executes the request."""
    nearest: tuple[Option, ...] = ()
    """If no option is within the limits: the smallest, and the fastest if that is another one."""

    def problems(self) -> Iterator[str]:
        """Problems with the goal and the options."""
        options = (self.requested, *self.options, *self.nearest)
        yield from unknown_words("goal", [self.goal], GOALS)
        yield from unknown_words("risk", [option.risk for option in options], RISKS)
        if any(option.results < 1 or not option.total_seconds > 0 for option in options):
            yield "every option must make a result and take some time"

    def __repr__(self) -> str:
        return f"<Advice for {self.model} on {self.accelerator}: {len(self.options)} of {self.tried} options>"
