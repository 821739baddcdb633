"""How much memory a generation needs on a device and on its host: plain, frozen values that know nothing of torch."""

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
    """The moment of a stage at which most memory is allocated."""

    stage: str
    """load, encode, denoise or decode."""
    component: str
    """What runs then."""
    module: str
    """Path of the module inside of it."""
    allocated_bytes: int
    """What PyTorch's tensors take: ``torch.cuda.max_memory_allocated``."""
    reserved_bytes: int
    """The most that PyTorch holds of the device in the stage: ``torch.cuda.max_memory_reserved``."""
    device_bytes: int
    """What nvidia-smi shows for the process: reserved, and the CUDA context."""
    weights: Mapping[str, int] = field(default_factory=dict)
    """Of each component that lies on the device."""
    activation_bytes: int = 0
    """Tensors of the component that runs."""
    kept_bytes: int = 0
    """Tensors of the pipeline itself: latents, embeddings, outputs of other components."""
    workspace_bytes: int = 0
    """The workspace of convolutions and attention, and weights that are unpacked for one layer."""


@dataclass(frozen=True)
class MemoryPeak:
    """The most memory in the whole generation, and where that is."""

    allocated_bytes: int
    reserved_bytes: int
    device_bytes: int
    stage: str
    component: str
    module: str


@dataclass(frozen=True)
class HostMemory:
    """What the process takes of the host's memory."""

    peak_bytes: int
    pinned_bytes: int
    """Of the peak, what is locked for transfers."""
    load_bytes: int
    """The most while the weights are loaded."""


@dataclass(frozen=True)
class Change:
    """Something to change, what it costs in time, and the memory that is then needed."""

    name: str
    settings: RunSettings
    enable: tuple[str, ...]
    """Switches of the pipeline."""
    code: tuple[str, ...]
    """Lines of Python on the pipeline ``pipe``."""
    slowdown: float
    """About how many times as long one generation takes."""
    peak: MemoryPeak
    host: HostMemory
    fits: bool | None
    command: str = ""
    """Says the same again."""


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
    """None where no memory was named to fit in."""
    changes: tuple[Change, ...] = ()
    assumptions: tuple[str, ...] = ()
    settings: RunSettings = field(default_factory=RunSettings)
    accelerator: str | None = None
    memory_bytes: int | None = None
    """Of the device."""
    usable_bytes: int | None = None
    """Of that, what a process can have."""
    ram_bytes: int | None = None
    request: RecordedRequest | None = None
    """What was asked for; None in a file of an earlier version."""
    execution: Execution | None = None
    """What the pipeline makes of the request."""

    def problems(self) -> Iterator[str]:
        """Of the names of stages."""
        return unknown_words("stage", [self.peak.stage, *(stage.stage for stage in self.stages)], STAGES)

    def __repr__(self) -> str:
        answer = {True: "fits", False: "does not fit", None: "no device named"}[self.fits]
        where = f" on {self.accelerator}" if self.accelerator else ""
        return f"<Fit of {self.model}{where}: {answer}, {self.peak.device_bytes:,} bytes>"
