"""How much memory a generation needs on a device and on its host: plain, frozen values that know nothing of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from diffprof.record.display import Displayed, function_named

LOAD, ENCODE, DENOISE, DECODE = "load", "encode", "denoise", "decode"
STAGES = (LOAD, ENCODE, DENOISE, DECODE)


@dataclass(frozen=True)
class FitSettings:
    """Where the weights lie while the pipeline runs, and in which form, beside what was counted."""

    offload: str = "none"
    use_stream: bool = True
    """Group offload: the next group comes while one computes."""
    blocks_per_group: int = 1
    quantize: Mapping[str, str] = field(default_factory=dict)
    """Component: scheme."""
    layerwise: tuple[str, ...] = ()
    """Components whose weights are kept in 8 bits and cast for each layer (``enable_layerwise_casting``)."""
    drop_text_encoders: bool = False
    """Text encoders are deleted when the prompt is encoded."""
    attention: str = "sdpa"
    """``sdpa``, or ``math`` for attention that is not fused."""
    compiled: bool = False
    devices: int = 1
    """Of context parallelism: each computes its part of the sequence."""


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
    """What convolutions and attention take beside, and weights that are unpacked for one layer."""


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
    settings: FitSettings
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
class Fit(Displayed):
    """Whether a generation fits, where its peak is, and what would make it fit."""

    model: str
    peak: MemoryPeak
    stages: tuple[StageMemory, ...]
    host: HostMemory
    fits: bool | None
    """None where no memory was named to fit in."""
    changes: tuple[Change, ...] = ()
    assumptions: tuple[str, ...] = ()
    settings: FitSettings = field(default_factory=FitSettings)
    accelerator: str | None = None
    memory_bytes: int | None = None
    """Of the device."""
    usable_bytes: int | None = None
    """Of that, what a process can have."""
    ram_bytes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The values of the saved file."""
        return cast("dict[str, Any]", function_named("diffprof.record.fit_files:to_json")(self))

    def save(self, path: str | Path) -> Path:
        """Write it to a file that `diffprof.record.fit_files.load` reads."""
        return cast(Path, function_named("diffprof.record.fit_files:save")(self, path))
