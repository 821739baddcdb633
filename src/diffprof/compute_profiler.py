"""The profiler that users of the original guides know, on the one engine: nothing is loaded and nothing computed.

    profiler = create_profiler(enabled=True)
    data = profiler.profile_pipeline(pipe, (1, 3, 512, 512), 30, "sd-2.1-base", guidance_scale=7.5)

The names and keys are the guides'. The numbers are those of the pipeline's own call, so they differ where the guides
rest on assumptions; `ComputeProfiler.profile_pipeline` says where.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from diffprof.render.guides.counts import decoding_macs, guide_counts, text_encoding_macs
from diffprof.render.headline import size_changes

GIGA = 10**9


def create_profiler(enabled: bool = True) -> ComputeProfiler:
    """A profiler; one that is not enabled counts nothing and says so."""
    return ComputeProfiler(enabled)


@dataclass(frozen=True)
class ComputeProfiler:
    """Counts what a generation with a pipeline costs.

    `pipe` is always a live diffusers pipeline, which is left as it was, or a model name, hub id or folder. A call
    argument that the pipeline does not have is left out, and `notes` says so. Nothing here raises because of a
    pipeline: what cannot be counted is reported, by ``{"enabled": False, "reason": ...}`` where a dictionary is
    returned, else by a warning and 0.
    """

    enabled: bool = True

    def measure_unet_macs(
        self, pipe: Any, height: int | None = None, width: int | None = None, prompt: str | None = None,
        guidance_scale: float | None = None,
    ) -> int:  # fmt: skip
        """MACs of the denoiser (UNet or transformer, with its ControlNets) in one denoising step, as executed.

        Guidance is in it as the pipeline does it: a batch of two, two calls, or nothing.
        """
        arguments = {"height": height, "width": width, "prompt": prompt, "guidance_scale": guidance_scale}
        return self._measure(pipe, arguments, lambda profile: profile.steps.macs)

    def measure_vae_decode_macs(self, pipe: Any, height: int | None = None, width: int | None = None) -> int:
        """MACs of turning the latents of one generation into images."""
        return self._measure(pipe, {"height": height, "width": width}, decoding_macs)

    def measure_text_encoder_macs(
        self, pipe: Any, prompt: str | None = None, negative_prompt: str | None = None
    ) -> int:
        """MACs of all calls of all text encoders in one generation; guidance needs the negative prompt encoded too."""
        return self._measure(pipe, {"prompt": prompt, "negative_prompt": negative_prompt}, text_encoding_macs)

    def summarize_macs(
        self, pipe: Any, height: int | None = None, width: int | None = None, steps: int | None = None,
        prompt: str | None = None, guidance_scale: float | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """One generation in GMACs, by stage.

        The total is of the whole generation as executed. The guides multiply the step by `steps`; a scheduler may call
        the denoiser more often than that (PNDM: once more), and a safety checker or an image encoder costs too.
        """
        arguments = {
            "height": height, "width": width, "num_inference_steps": steps, "prompt": prompt,
            "guidance_scale": guidance_scale,
        }  # fmt: skip
        try:
            profile, _ = self._profile(pipe, arguments)
        except Exception as error:  # noqa: BLE001  whatever it is, the caller's generation goes on
            return _failure(error)
        requested = steps if steps is not None else profile.request.value("num_inference_steps")
        return {
            "UNet per-step (GMACs)": profile.steps.macs / GIGA,
            "Text encoder once (GMACs)": text_encoding_macs(profile) / GIGA,
            "VAE decode once (GMACs)": decoding_macs(profile) / GIGA,
            f"Total {requested} steps (GMACs)": profile.total.macs / GIGA,
        }

    def profile_pipeline(
        self, pipe: Any, input_shape: Sequence[int] = (1, 3, 512, 512), num_inference_steps: int | None = None,
        model_id: str | None = None, guidance_scale: float | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """One generation as the dictionary that the guides show.

        `input_shape` is (batch, channels, height, width), of a video (batch, channels, frames, height, width).

        - ``total_macs`` and ``total_flops`` are of the whole generation as executed: text encoders, every call of the
          denoiser, VAE, and whatever else ran. One guide defines the total as the denoiser's step times the number of
          steps; ``denoiser_macs`` is the denoiser's part as executed, in ``num_executed_steps`` steps.
        - ``macs_per_step`` and ``flops_per_step`` are of one denoising step. One guide shows the total divided by the
          number of steps there, which spreads the text encoder and the VAE over the steps.
        - ``total_params`` are those of ``model_component``, as in the guides; ``pipeline_params`` are all.
        - FLOPs are two for each MAC.
        """
        try:
            given = {"num_inference_steps": num_inference_steps, "guidance_scale": guidance_scale}
            profile, notes = self._profile(pipe, {**_sizes(input_shape), **given})
        except Exception as error:  # noqa: BLE001  whatever it is, the caller's generation goes on
            return {**_failure(error), "model_id": model_id}
        steps = num_inference_steps or profile.request.value("num_inference_steps")
        return {
            **guide_counts(profile),
            "num_inference_steps": steps or profile.steps.count,
            "input_shape": tuple(input_shape),
            "model_id": model_id or profile.request.model,
            "notes": [*notes, *size_changes(profile), *profile.ledger.assumptions],
        }

    def _measure(self, pipe: Any, arguments: Mapping[str, Any], number: Any) -> int:
        try:
            profile, _ = self._profile(pipe, arguments)
        except Exception as error:  # noqa: BLE001  whatever it is, the caller's generation goes on
            if self.enabled:
                warnings.warn(f"nothing was counted: {_failure(error)['reason']}", RuntimeWarning, stacklevel=3)
            return 0
        return int(number(profile))

    def _profile(self, pipe: Any, arguments: Mapping[str, Any]) -> tuple[Profile, list[str]]:
        if not self.enabled:
            raise RequestError("profiling is disabled; create_profiler(enabled=True) counts")
        from diffprof.counting.profile import profile_call

        given = {name: value for name, value in arguments.items() if value is not None}
        known, notes = _split_known(pipe, given)
        return profile_call(pipe, known), notes


def _failure(error: Exception) -> dict[str, Any]:
    return {"enabled": False, "reason": str(error).strip() or type(error).__name__}


def _split_known(pipe: Any, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments that the pipeline's call has, and a note on each that it has not."""
    from diffprof.pipelines.arguments import find_argument

    owner = _class_of(pipe)
    parameters = inspect.signature(owner.__call__).parameters
    missing = [name for name in arguments if find_argument(parameters, name) is None]
    known = {name: value for name, value in arguments.items() if name not in missing}
    return known, [f"{owner.__name__} has no {name}: it was left out" for name in missing]


def _class_of(pipe: Any) -> Any:
    if not isinstance(pipe, (str, Path)):
        return type(pipe)
    from diffprof.pipelines.plans.classes import pipeline_class
    from diffprof.pipelines.plans.source import blueprint_of
    from diffprof.pipelines.quiet import quiet_libraries

    with quiet_libraries():
        return pipeline_class(blueprint_of(pipe).pipeline)


def _sizes(input_shape: Sequence[int]) -> dict[str, Any]:
    if len(input_shape) not in (4, 5):
        raise RequestError(
            f"input_shape is {tuple(input_shape)!r}; give (batch, channels, height, width), "
            "or (batch, channels, frames, height, width) of a video"
        )
    batch, _, *frames, height, width = input_shape
    sizes: dict[str, Any] = {"height": height, "width": width}
    if frames:
        sizes["num_frames"] = frames[0]
    # Every pipeline makes one image: a request for one would be refused where there is no such argument.
    return sizes if batch == 1 else {**sizes, "num_images_per_prompt": batch}
