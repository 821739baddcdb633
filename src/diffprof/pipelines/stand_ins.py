"""Blank images, videos, texts, sounds and embeddings in place of inputs that a call needs and was not given."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Mapping
from math import ceil, prod
from typing import Any

import torch

from diffprof.errors import RequestError, error_summary
from diffprof.record.inputs import ImageSize, InputSize, VideoSize
from diffprof.record.texts import STAND_IN_PROMPT
from diffprof.settings.limits import LIMITS

OPTIONAL_INPUTS = (
    "image", "images", "video", "control_image", "mask_image", "mask", "control_video", "conditioning_frames",
    "conditioning_image", "condition_image", "control_mask", "raw_image", "original_image", "depth_map", "audio",
    "src_audio", "initial_audio_waveforms", "task_prompt", "content_prompt", "c2w", "intrinsics",
    "gligen_phrases", "gligen_boxes", "image_latents", "negative_prompt",
)  # fmt: skip
"""Optional inputs without which a call may fail, in the order in which to try them."""

GREY, WHITE = "grey", "white"


class NoStandInError(RequestError):
    """The pipeline does not have what the input is made of."""


def stand_in(pipeline: Any, name: str, given: Mapping[str, Any]) -> Any:
    """Return a stand-in for the call argument of this name; refuse it if none is known."""
    try:
        return _make(pipeline, name, given)
    except (AttributeError, TypeError, ValueError, ArithmeticError, RuntimeError, MemoryError) as error:
        # It depends on the pipeline and its configuration, which may contain anything.
        raise NoStandInError(
            f"there is no stand-in for the call argument {name!r} of {type(pipeline).__name__} "
            f"({error_summary(error)}); check the model's configuration, or give it with --set {name}=VALUE"
        ) from error


def _make(pipeline: Any, name: str, given: Mapping[str, Any]) -> Any:
    if name in STAND_INS:
        return STAND_INS[name](pipeline, given)
    words = name.split("_")
    if "video" in words or "frames" in words:
        return stand_in_video(pipeline, given, "L" if "mask" in words else "RGB")
    if name == "mask" and default_of(pipeline, "num_frames"):
        return stand_in_video(pipeline, given, "L")  # one for each frame of a video
    if "mask" in name:
        return stand_in_image(pipeline, given, "L")
    if "image" in name:
        return stand_in_image(pipeline, given)
    raise RequestError(f"{type(pipeline).__name__} needs the call argument {name!r}; give it with --set {name}=VALUE")


def is_optional_input(name: str) -> bool:
    """Whether an optional call argument is an image, a video or another input with a stand-in."""
    if name.endswith(NON_INPUT_ENDINGS) and name not in (*EMBEDDINGS, "num_frames"):
        return False
    return name in STAND_INS or any(word in name.split("_") for word in ("image", "images", "mask", "video", "frames"))


EMBEDDINGS = ("source_embeds", "target_embeds")
"""Embeddings of texts before and after an edit (Pix2Pix Zero), which cannot be recognised by name otherwise."""

NON_INPUT_ENDINGS = (
    "latents",
    "embeds",
    "embeddings",
    "embeds_mask",
    "attention_mask",
    "size",
    "crop",
    "scale",
    "num_frames",
)
"""Endings of call arguments that are numbers, or alternatives to an input."""


def sized_input(pipeline: str, name: str, size: InputSize) -> Any:
    """Return a blank image or video of a requested size; a mask is white, so that all of it is painted."""
    mode = "L" if "mask" in name else "RGBA" if pipeline.startswith(LAYERED_PIPELINES) else "RGB"
    if isinstance(size, ImageSize):
        return _plain_image(mode, size.width, size.height)
    return [_plain_image(mode, size.width, size.height)] * size.frames


def stand_in_prompt(pipeline: Any) -> str:
    """Return a short prompt in the form that the pipeline expects."""
    if type(pipeline).__name__.startswith("BriaFiboEdit"):
        return json.dumps({"edit_instruction": STAND_IN_PROMPT})
    return STAND_IN_PROMPT


def least_strength(steps: int, usual: float) -> float | None:
    """Return a strength that executes at least one step, if the usual one would not; else None.

    The strength is the share of the steps that is executed.
    """
    return None if int(steps * usual) >= 1 else 1 / steps


def stand_in_image(pipeline: Any, given: Mapping[str, Any], mode: str = "RGB") -> Any:
    """Return a blank image of the generated size; one for each ControlNet."""
    width, height = usual_sizes(pipeline, given)
    if mode == "L" and "DiffEdit" in type(pipeline).__name__:  # its masks have the size of latents
        width, height = width // int(pipeline.vae_scale_factor), height // int(pipeline.vae_scale_factor)
    mode = "RGBA" if mode == "RGB" and type(pipeline).__name__.startswith(LAYERED_PIPELINES) else mode
    image = _plain_image(mode, width, height)
    if type(pipeline).__name__.startswith("VisualCloze") and mode == "RGB":
        return [[image, image], [image, None]]  # an example, and a query whose answer is generated
    adapter = getattr(pipeline, "adapter", None)
    if getattr(getattr(adapter, "config", None), "in_channels", None) == 1:
        image = _plain_image("L", width, height)  # edges or a sketch, for T2I-Adapters
    nets = getattr(getattr(pipeline, "controlnet", None), "nets", None) or getattr(adapter, "adapters", None)
    return [image] * len(nets) if nets is not None and mode == "RGB" else image


LAYERED_PIPELINES = "QwenImageLayered"
"""The prefix of pipelines whose images have an alpha channel."""


def stand_in_video(pipeline: Any, given: Mapping[str, Any], mode: str = "RGB") -> Any:
    """Return as many blank images as generated frames."""
    frames = given.get("num_frames") or default_of(pipeline, "num_frames", "segment_frame_length") or 17
    if type(pipeline).__name__.startswith("EasyAnimate"):  # takes no PIL images
        width, height = usual_sizes(pipeline, given)
        return _zeros(1, 1 if mode == "L" else 3, int(frames), height, width)
    return [_plain_image(mode, *usual_sizes(pipeline, given))] * int(frames)


def _zeros(*shape: int) -> torch.Tensor:
    """Return zeros, unless a configuration requests more than any input has."""
    if prod(shape) > MAX_ELEMENTS:
        raise ValueError(f"{prod(shape):,} numbers")
    return torch.zeros(*shape)


MAX_ELEMENTS = LIMITS["width"].most * LIMITS["height"].most


def _plain_image(mode: str, width: int, height: int) -> Any:
    from PIL import Image

    return Image.new(mode, (width, height), WHITE if mode == "L" else GREY)


def default_of(pipeline: Any, *names: str) -> Any:
    """Return the first of these call arguments with a number as its default."""
    parameters = inspect.signature(type(pipeline).__call__).parameters
    defaults = [parameters[name].default for name in names if name in parameters]
    return next((value for value in defaults if isinstance(value, int) and value), None)


def usual_sizes(pipeline: Any, given: Mapping[str, Any]) -> tuple[int, int]:
    """Return width and height of the output in pixels: as given, else the pipeline's native size."""
    width, height = (
        given.get(side) or default_of(pipeline, side) or _configured_side(pipeline, side)
        for side in ("width", "height")
    )
    usual = width or height or _usual_size(pipeline)  # square, if only one side is known
    sides = int(width or usual), int(height or usual)
    for side in sides:
        LIMITS["width"].check(side, f"the size that {type(pipeline).__name__} was made for")
    return sides


def _configured_side(pipeline: Any, side: str) -> int | None:
    """Return a side of the native size of a video transformer, in pixels."""
    config = getattr(getattr(pipeline, "transformer", None), "config", None)
    cells, factor = getattr(config, f"sample_{side}", None), getattr(pipeline, "vae_scale_factor_spatial", None)
    return cells * factor if isinstance(cells, int) and isinstance(factor, int) else None


def _usual_size(pipeline: Any) -> int:
    """Return the native size of the model, in pixels."""
    if type(pipeline).__name__ == "StableDiffusionUpscalePipeline":
        return 128
    factor = int(getattr(pipeline, "vae_scale_factor", 8) or 8)
    for slot in ("unet", "transformer", "prior_prior", "prior"):
        size = getattr(getattr(getattr(pipeline, slot, None), "config", None), "sample_size", None)
        if isinstance(size, int):
            return size * factor
    usual = getattr(pipeline, "default_sample_size", None)
    return usual * factor if isinstance(usual, int) and usual > 0 else 512


def _stage_c_embeddings(pipeline: Any, given: Mapping[str, Any]) -> torch.Tensor:
    """Return the output of Stable Cascade's prior: 42.67 pixels per cell."""
    rows, columns = (ceil((given.get(side) or 1024) / 42.67) for side in ("height", "width"))
    config = pipeline.decoder.config
    channels = getattr(config, "effnet_in_channels", None) or 16
    return _zeros(1, channels, rows, columns)


def _image_embeddings(pipeline: Any, given: Mapping[str, Any]) -> torch.Tensor:
    """Return the output of a Kandinsky prior; for a model that also takes texts, as wide as its attention."""
    config = pipeline.unet.config
    takes_texts = getattr(config, "encoder_hid_dim_type", None) == "text_image_proj"
    return _zeros(1, (None if takes_texts else config.encoder_hid_dim) or config.cross_attention_dim)


def _silence(pipeline: Any, given: Mapping[str, Any]) -> torch.Tensor:
    """Return ten seconds of silence in stereo."""
    config = getattr(getattr(pipeline, "vae", None), "config", None)
    rate = getattr(config, "sampling_rate", None) or getattr(pipeline, "sample_rate", None) or 44100
    channels = getattr(config, "audio_channels", None) or 2
    return _zeros(1, int(channels), 10 * int(rate))


def _latents_of_steps(pipeline: Any, given: Mapping[str, Any]) -> torch.Tensor:
    """Return the output of DiffEdit's inversion: latents for each executed step."""
    steps = given.get("num_inference_steps") or default_of(pipeline, "num_inference_steps") or 50
    skipped = steps - max(int(steps * float(given.get("inpaint_strength") or 0.8)), 1)
    scheduler = copy.deepcopy(pipeline.scheduler)
    scheduler.set_timesteps(steps)
    executed = len(scheduler.timesteps) - skipped * scheduler.order
    width, height = usual_sizes(pipeline, given)
    factor = int(pipeline.vae_scale_factor)
    return _zeros(1, executed, pipeline.vae.config.latent_channels, height // factor, width // factor)


def _latents(pipeline: Any, given: Mapping[str, Any]) -> torch.Tensor:
    """Return the input of a pipeline that only decodes: 17 frames of 512x512, with 8 frames and 32 pixels per cell."""
    config = pipeline.vae.config
    return _zeros(1, int(getattr(config, "latent_channels", None) or 128), 3, 16, 16)


def _text_embeddings(pipeline: Any, given: Mapping[str, Any]) -> torch.Tensor:
    return _zeros(1, int(pipeline.tokenizer.model_max_length), int(pipeline.text_encoder.config.hidden_size))


RESIDUES = 64
"""Length of the stand-in protein."""


def _residue_mask(value: bool) -> Callable[[Any, Mapping[str, Any]], torch.Tensor]:
    return lambda pipeline, given: torch.full((1, RESIDUES), value, dtype=torch.bool)


def _camera_path(pipeline: Any, given: Mapping[str, Any]) -> Any:
    """Return a camera that does not move."""
    frames = int(given.get("num_frames") or default_of(pipeline, "num_frames") or 17)
    return torch.eye(4).repeat(frames, 1, 1).numpy()


def _lens(pipeline: Any, given: Mapping[str, Any]) -> list[float]:
    width, height = usual_sizes(pipeline, given)
    return [float(width), float(width), width / 2, height / 2]


STAND_INS: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    **dict.fromkeys(
        ("prompt", "source_prompt", "target_prompt", "task_prompt", "content_prompt"),
        lambda pipeline, given: STAND_IN_PROMPT,
    ),
    **dict.fromkeys(("source_subject_category", "target_subject_category"), lambda pipeline, given: "cat"),
    **dict.fromkeys(("audio", "src_audio", "reference_audio", "initial_audio_waveforms"), _silence),
    "generator": lambda pipeline, given: torch.Generator(),
    "output_type": lambda pipeline, given: "np",
    "control_mode": lambda pipeline, given: 0,
    "processing_resolution": lambda pipeline, given: 768,  # as in all published Marigold models
    "overlap_history": lambda pipeline, given: 17,  # as in the pipeline's own example
    "negative_prompt": lambda pipeline, given: "",
    "gligen_phrases": lambda pipeline, given: ["a cat"],
    "gligen_boxes": lambda pipeline, given: [[0.25, 0.25, 0.75, 0.75]],
    "class_labels": lambda pipeline, given: [0],
    "token_indices": lambda pipeline, given: [2, 5],
    "controls": stand_in_video,
    "images": lambda pipeline, given: [stand_in_image(pipeline, given)],
    "image_embeddings": _stage_c_embeddings,
    "image_embeds": _image_embeddings,
    "negative_image_embeds": _image_embeddings,
    "hint": lambda pipeline, given: torch.zeros(1, 3, given.get("height") or 512, given.get("width") or 512),
    "depth_map": lambda pipeline, given: torch.zeros(1, *reversed(usual_sizes(pipeline, given))),
    "latents": _latents,
    "image_latents": _latents_of_steps,
    **dict.fromkeys(EMBEDDINGS, _text_embeddings),
    "num_frames": lambda pipeline, given: 121,  # five seconds, for models that choose the length of a video
    "width": lambda pipeline, given: usual_sizes(pipeline, given)[0],
    "height": lambda pipeline, given: usual_sizes(pipeline, given)[1],
    "use_resolution_binning": lambda pipeline, given: False,
    "padding_mask": _residue_mask(True),
    "is_in_context_conditioning": _residue_mask(False),
    "supports_local_latent": _residue_mask(True),
    "c2w": _camera_path,
    "intrinsics": _lens,
}


def describe_input(value: Any) -> Any:
    """Describe images, alone or in a list, so that `record.inputs` can parse them; None for anything else."""
    if _is_image(value):
        return str(ImageSize(*value.size))
    if isinstance(value, (list, tuple)) and len(value) > 1 and all(map(_is_image, value)):
        sizes = {part.size for part in value}
        return str(VideoSize(len(value), *sizes.pop())) if len(sizes) == 1 else None
    return None


def _is_image(value: Any) -> bool:
    return hasattr(value, "size") and hasattr(value, "mode") and isinstance(value.size, tuple)
