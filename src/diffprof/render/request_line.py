"""A request on one line: model, size, steps, guidance, dtype, and changes to the model."""

from __future__ import annotations

from collections.abc import Mapping

from diffprof.record.changes import Changes
from diffprof.record.execution import Execution
from diffprof.record.recorded_request import RecordedRequest
from diffprof.render import numbers

# Arguments that have their own place in the line, or are left out because they do not change the count.
_SHOWN_ELSEWHERE = (
    *("height", "width", "num_frames", "num_inference_steps", "guidance_scale"),
    *("num_images_per_prompt", "num_videos_per_prompt"),
    *("prompt", "negative_prompt", "generator", "output_type"),
)
_OTHER_GUIDANCE = ("prior_guidance_scale", "true_cfg_scale")
_STEPS = ("num_inference_steps", "prior_num_inference_steps")
_GUIDANCE = ("guidance_scale", *_OTHER_GUIDANCE)
_SIZES = ("height", "width", "num_frames")
MAX_OTHER_ARGUMENTS = 3
LONGEST_ARGUMENT = 20

SEPARATOR = " · "


def request_line(request: RecordedRequest, execution: Execution) -> str:
    """The model and how it is called: ``sd-2.1-base · 512 x 512 · 30 steps · guidance 7.5 · float16``."""
    return SEPARATOR.join([_model(request), *request_parts(request, execution)])


def request_parts(request: RecordedRequest, execution: Execution) -> list[str]:
    """The parts of the line after the model's name.

    If the steps, else the guidance, else the size is the model's recommended one, that part says so.
    """
    steps, guidance, size = step_words(request, execution), _guidance(request), size_words(request, execution)
    if steps and set(_STEPS) & set(request.recommended):
        steps = f"{steps}, recommended"
    elif guidance and set(_GUIDANCE) & set(request.recommended):
        guidance = f"{guidance}, recommended"
    elif size and set(_SIZES) & set(request.recommended):
        size = f"{size}, recommended"
    parts = [
        *(size, steps, guidance, _prompts(request), _batch(request), execution.dtype),
        *describe_changes(request.changes),
        *_other_arguments(request),
    ]
    return [part for part in parts if part]


def token_words(execution: Execution) -> str:
    """``7 prompt tokens, padded to 77, 512``, for the longest prompt; empty if no text was encoded."""
    first = list({text.encoder: text for text in reversed(execution.texts)}.values())
    longest = max((count for text in first for count in text.tokens), default=0)
    if not longest:
        return ""
    padded = sorted({text.length for text in first if text.is_padded})
    lengths = f", padded to {', '.join(map(numbers.exact, padded))}" if padded else ""
    return f"{numbers.times(longest, 'prompt token')}{lengths}"


def describe_changes(changes: Changes) -> list[str]:
    """The changes to the model, each in a few words: ``nf4: unet``, ``LoRA 16``, ``guided from 0.2 to 0.8``."""
    texts = [*_by_kind(changes.quantize), *(f"{text} layerwise" for text in _by_kind(changes.layerwise))]
    texts += [f"LoRA {_last_name(lora)}" for lora in changes.lora]
    texts += [f"ControlNet {_last_name(name)}" for name in changes.controlnet]
    texts += [f"IP-Adapter {changes.ip_adapter}"] if changes.ip_adapter else []
    texts += [f"{changes.attention} attention"] if changes.attention else []
    if changes.guidance_interval:
        texts.append("guided from {:g} to {:g}".format(*changes.guidance_interval))
    texts += [f"cache {changes.cache}"] if changes.cache else []
    return texts


def _by_kind(components: Mapping[str, str]) -> list[str]:
    """``nf4: transformer and text_encoder``: components grouped by their storage format."""
    kinds = dict.fromkeys(components.values())
    return [
        f"{kind}: {' and '.join(slot for slot, own in components.items() if own == kind)}" for kind in kinds if kind
    ]


def _last_name(path: str) -> str:
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or path


def size_words(request: RecordedRequest, execution: Execution) -> str:
    """``1024 x 1024``, with the frames of a video; empty if the pipeline has no size."""
    height, width, frames = (request.value(name) for name in ("height", "width", "num_frames"))
    size = ""
    if _is_count(width) and _is_count(height):
        size = f"{width} x {height}" if width == height else f"{width} wide x {height} high"
    computed = execution.computed_size
    if size and computed is not None:
        size += f" (computed at {computed.width} x {computed.height})"
    if _is_count(frames):
        size = f"{size}, {numbers.times(frames, 'frame')}" if size else numbers.times(frames, "frame")
    return size


def step_words(request: RecordedRequest, execution: Execution) -> str:
    """``30 steps (31 executed)``, or the steps of each loop; empty if there are none."""
    if len(execution.steps) > 1:
        return " + ".join(map(numbers.exact, execution.steps)) + " steps"
    requested, executed = request.value("num_inference_steps"), next(iter(execution.steps), 0)
    if not _is_count(requested):
        return numbers.times(executed, "step") if executed else ""
    differs = executed and executed != requested
    return numbers.times(requested, "step") + (f" ({numbers.exact(executed)} executed)" if differs else "")


def _model(request: RecordedRequest) -> str:
    """The model's name; for a folder only the last part of its path."""
    return _last_name(request.model) if request.source == "folder" else request.model


def _guidance(request: RecordedRequest) -> str:
    scale = request.value("guidance_scale")
    if _is_number(scale):
        return f"guidance {scale:g}"
    given = request.arguments
    return SEPARATOR.join(f"{name} {given[name]:g}" for name in _OTHER_GUIDANCE if _is_number(given.get(name)))


def _prompts(request: RecordedRequest) -> str:
    prompt = request.arguments.get("prompt")
    return numbers.times(len(prompt), "prompt") if isinstance(prompt, list | tuple) and len(prompt) > 1 else ""


def _batch(request: RecordedRequest) -> str:
    count = request.value("num_images_per_prompt") or request.value("num_videos_per_prompt")
    return f"{count} per prompt" if _is_count(count) and count > 1 else ""


def _other_arguments(request: RecordedRequest) -> list[str]:
    """Other arguments of the request, such as ``denoising_end 0.8``, if they are short."""
    guidance_names = () if _is_number(request.value("guidance_scale")) else _OTHER_GUIDANCE
    others = [
        f"{name} {scalar_text(value).removeprefix(f'{name} ')}"  # "image 64x32" names itself
        for name, value in request.arguments.items()
        if name not in _SHOWN_ELSEWHERE
        and name not in guidance_names
        and 0 < len(scalar_text(value)) <= LONGEST_ARGUMENT
    ]
    return others[:MAX_OTHER_ARGUMENTS]


def scalar_text(value: object) -> str:
    """A number, flag or string as text; empty for anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, int | str) else ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
