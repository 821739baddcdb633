"""The limits of all numbers and the names of all dtypes that a user can give."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diffprof.errors import RequestError

_WHOLE = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)


@dataclass(frozen=True)
class Limit:
    """A number that a user can give: its names and its bounds."""

    name: str
    """The name in Python: the pipeline's call argument, or an argument of diffprof."""
    option: str
    """The option of the command line."""
    least: float = -math.inf
    most: float = math.inf
    is_whole: bool = True

    @property
    def description(self) -> str:
        """Completes the sentence "... must be"."""
        kind = "a whole number" if self.is_whole else "a number"
        return kind if self.least == -math.inf else f"{kind} from {self.least:,} to {self.most:,}"

    def check(self, value: Any, where: str = "") -> Any:
        """Return the number if it is within the bounds; errors refer to it as `where`, else by its name."""
        is_number = isinstance(value, int if self.is_whole else int | float) and not isinstance(value, bool)
        if not is_number or not _is_finite(value) or not self.least <= value <= self.most:
            raise RequestError(f"{where or self.name} must be {self.description}, not {value!r}.")
        return value

    def parse(self, text: str, where: str = "") -> Any:
        """Parse the number."""
        try:
            value: Any = float(text) if not self.is_whole else int(text) if _WHOLE.fullmatch(text) else text
        except ValueError:
            value = text
        return self.check(value, where)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False  # an integer that is too large for a float


LARGEST_SEED = 2**63 - 1

# Larger than anything that was ever generated, but small enough to be counted.
LIMITS = {
    limit.name: limit
    for limit in (
        Limit("height", "--height", 1, 16_384),
        Limit("width", "--width", 1, 16_384),
        Limit("num_inference_steps", "--steps", 1, 100_000),
        Limit("guidance_scale", "--guidance", is_whole=False),
        Limit("num_images_per_prompt", "--batch", 1, 10_000),
        Limit("num_frames", "--frames", 1, 100_000),
        Limit("seed", "--seed", 0, LARGEST_SEED),
        Limit("fps", "--fps", 1, 240),
        Limit("warmup", "--warmup", 0, 10_000),
        Limit("iterations", "--iterations", 1, 10_000),
        Limit("time_budget", "--time-budget", 0, 1_000_000, is_whole=False),
        Limit("sample_hz", "--sample-hz", 0, 1000, is_whole=False),
        Limit("profiling_iterations", "--profiling-iterations", 0, 1000),
        Limit("limit_time", "--limit-time", 0.1, 1_000_000, is_whole=False),
        Limit("depth", "--depth", 0, 1000),
        Limit("port", "--port", 0, 65_535),
    )
}

SAMPLES_PER_SECOND = 10
"""How often the machine is sampled by default while a pipeline is measured."""

CALL_NUMBERS = ("height", "width", "num_inference_steps", "guidance_scale", "num_images_per_prompt", "num_frames")
"""The numbers that are call arguments, with the names that most pipelines use."""

SHORT_NAMES = {LIMITS[name].option.removeprefix("--"): name for name in CALL_NUMBERS}
"""Their names on the command line: ``steps``, ``guidance``, ``batch``, ``frames``."""

OTHER_NAMES = {
    "num_images_per_prompt": ("num_videos_per_prompt", "num_waveforms_per_prompt", "batch_size"),
    "num_frames": ("video_length", "frames"),
    "num_inference_steps": ("prior_num_inference_steps", "steps"),
    "guidance_scale": ("true_cfg_scale", "text_guidance_scale", "image_guidance_scale"),
    "image": ("images", "input_images", "reference_images", "raw_image", "cond_image"),
    "mask_image": ("mask", "control_mask", "mask_video"),
    "control_image": ("image", "conditioning_frames", "condition_image", "conditioning_image"),
    "video": ("control_video", "conditioning_frames", "controls", "pose_video"),
}
"""Other names of call arguments in some pipelines, by the name that most use."""

DTYPES = {
    "float32": "float32", "fp32": "float32", "float16": "float16", "fp16": "float16", "half": "float16",
    "bfloat16": "bfloat16", "bf16": "bfloat16", "float64": "float64",
}  # fmt: skip
"""The full name in torch for each accepted name of a dtype."""

OFFLOADS = ("model", "sequential", "group")


def with_full_names(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the short names of the command line by those of call arguments."""
    named: dict[str, Any] = {}
    for name, value in arguments.items():
        full = SHORT_NAMES.get(name, name)
        if full in named:
            raise RequestError(f"{name} and {full} are the same call argument; leave one out.")
        named[full] = value
    return named


def dtype_name(dtype: Any) -> str | None:
    """The full name of a dtype, given by any of its names or as a torch dtype; None stays None."""
    if dtype is None:
        return None
    text = str(dtype).lower().removeprefix("torch.")
    if not isinstance(dtype, str):
        return text
    if text not in DTYPES:
        raise RequestError(f"Unknown dtype {dtype!r}; use float32, float16 or bfloat16.")
    return DTYPES[text]
