"""The result of `fit`: the memory of a generation on a device and on its host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from diffprof.record.execution import Execution
from diffprof.record.recorded_request import RecordedRequest
from diffprof.record.results import Result, unknown_words
from diffprof.record.run_settings import RunSettings

LOAD, ENCODE, DENOISE, DECODE = "load", "encode", "denoise", "decode"
STAGES = (LOAD, ENCODE, DENOISE, DECODE)


@dataclass(frozen=True)
class StageMemory:
    """The memory of a stage at its peak."""

    stage: str
    """load, encode, denoise or decode."""
    component: str
    """The running component."""
    module: str
    """The path of the running module in it."""
    allocated_bytes: int
    """Allocated memory: ``torch.cuda.max_memory_allocated``."""
    reserved_bytes: int
    """Peak of reserved memory in the stage: ``torch.cuda.max_memory_reserved``."""
    device_bytes: int
    """Memory as nvidia-smi shows it for the process: reserved, and the CUDA context."""
    weights: Mapping[str, int] = field(default_factory=dict)
    """Weight bytes of each component on the device."""
    activation_bytes: int = 0
    """Tensors of the running component."""
    kept_bytes: int = 0
    """Tensors of the pipeline itself: latents, embeddings, outputs of other components."""
    workspace_bytes: int = 0
    """The workspace of convolutions and attention, and weights that are unpacked for one layer."""


@dataclass(frozen=True)
class MemoryPeak:
    """The peak memory of the generation, and where it is."""

    allocated_bytes: int
    reserved_bytes: int
    device_bytes: int
    stage: str
    component: str
    module: str


@dataclass(frozen=True)
class HostMemory:
    """The host memory of the process."""

    peak_bytes: int
    pinned_bytes: int
    """The part of the peak that is pinned for transfers."""
    load_bytes: int
    """The peak while the weights are loaded."""


@dataclass(frozen=True)
class Change:
    """A change that makes a generation fit, with its slowdown and memory."""

    name: str
    settings: RunSettings
    enable: tuple[str, ...]
    """Features of the pipeline to enable."""
    code: tuple[str, ...]
    """Lines of Python that apply it to the pipeline ``pipe``."""
    slowdown: float
    """The approximate factor on the time of one generation."""
    peak: MemoryPeak
    host: HostMemory
    fits: bool | None
    command: str = ""
    """The command that reproduces the prediction."""


@dataclass(frozen=True)
class Fit(Result):
    """Whether a generation fits, where its peak is, and what would make it fit."""

    format_name = "diffprof-fit"
    command = "diffprof fit MODEL"
    page = "diffprof.advice.views.fit_page:fit_html"

    model: str
    peak: MemoryPeak
    stages: tuple[StageMemory, ...]
    host: HostMemory
    fits: bool | None
    """Whether it fits; None if no device was named."""
    changes: tuple[Change, ...] = ()
    assumptions: tuple[str, ...] = ()
    settings: RunSettings = field(default_factory=RunSettings)
    accelerator: str | None = None
    memory_bytes: int | None = None
    """Memory of the device."""
    usable_bytes: int | None = None
    """The part of it that a process can use."""
    ram_bytes: int | None = None
    request: RecordedRequest | None = None
    """The request; None in a file of an earlier version."""
    execution: Execution | None = None
    """How the pipeline executes the request."""

    def problems(self) -> Iterator[str]:
        """Problems with the names of stages."""
        return unknown_words("stage", [self.peak.stage, *(stage.stage for stage in self.stages)], STAGES)

    def __repr__(self) -> str:
        answer = {True: "fits", False: "does not fit", None: "no device named"}[self.fits]
        where = f" on {self.accelerator}" if self.accelerator else ""
        return f"<Fit of {self.model}{where}: {answer}, {self.peak.device_bytes:,} bytes>"
