"""The sentences around the tables: the request, the totals, and how far the count can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diffprof.breakdown.shares import share
from diffprof.record.changes import Changes
from diffprof.record.profile import Ledger, MacsRange, Profile, Stage
from diffprof.render import numbers

# Arguments that have their own place in the headline, or none because they change no count.
_SHOWN_ELSEWHERE = (
    *("height", "width", "num_frames", "num_inference_steps", "guidance_scale"),
    *("num_images_per_prompt", "num_videos_per_prompt"),
    *("prompt", "negative_prompt", "generator", "output_type"),
)
_OTHER_GUIDANCE = ("prior_guidance_scale", "true_cfg_scale")
_STEPS = ("num_inference_steps", "prior_num_inference_steps")
_GUIDANCE = ("guidance_scale", *_OTHER_GUIDANCE)
_SIZES = ("height", "width", "num_frames")
MOST_OTHER_ARGUMENTS = 3
LONGEST_ARGUMENT = 20

_ITEM_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}

_SOURCES = {
    "catalogue": "from the catalogue",
    "folder": "from a folder",
    "hub": "from the hub",
    "file": "from a weight file",
    "object": "a live pipeline",
    "module": "one call of a module",
}


def headline(profile: Profile) -> str:
    """Model, size, steps, guidance, dtype: ``sd-2.1-base · 512 x 512 · 30 steps · guidance 7.5 · float16``.

    The steps, the guidance or the size say that they are recommended, the first of them that is.
    """
    steps, guidance, size = _steps(profile), _guidance(profile), _size(profile)
    if steps and set(_STEPS) & set(profile.request.recommended):
        steps = f"{steps}, recommended"
    elif guidance and set(_GUIDANCE) & set(profile.request.recommended):
        guidance = f"{guidance}, recommended"
    elif size and set(_SIZES) & set(profile.request.recommended):
        size = f"{size}, recommended"
    parts = [
        *(_model(profile), size, steps, guidance),
        *(_prompts(profile), _batch(profile), _dtype(profile), *describe_changes(profile.request.changes)),
        *_other_arguments(profile),
    ]
    return " · ".join(part for part in parts if part)


def composition(profile: Profile) -> str:
    """The pipeline's class, where it came from and which switches are on."""
    request = profile.request
    switches = [f"scheduler {request.scheduler}"] if request.scheduler else []
    switches += [f"{name} on" for name in request.enable]
    return ", ".join([request.pipeline, _SOURCES.get(request.source, request.source), *switches])


def describe_changes(changes: Changes) -> list[str]:
    """What was changed about the model, each in a few words: ``unet nf4``, ``LoRA 16``, ``guidance in 0.2 to 0.8``."""
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
    """``nf4: transformer and text_encoder``: the components that are kept in the same way."""
    kinds = dict.fromkeys(components.values())
    return [
        f"{kind}: {' and '.join(slot for slot, own in components.items() if own == kind)}" for kind in kinds if kind
    ]


def _last_name(path: str) -> str:
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or path


def requested_size(profile: Profile) -> str:
    """``1024 x 1024``, with the frames of a video; empty if the pipeline has no size."""
    return _size(profile)


def executed_steps(profile: Profile) -> str:
    """``30 (31 executed)``, or one number where they are the same."""
    return _steps(profile).replace(" steps", "").replace(" step", "")


def _model(profile: Profile) -> str:
    """The model's name; for a folder only the last part of its path."""
    model = profile.request.model
    return _last_name(model) if profile.request.source == "folder" else model


def _size(profile: Profile) -> str:
    height, width = profile.request.value("height"), profile.request.value("width")
    frames = profile.request.value("num_frames")
    size = ""
    if _is_count(width) and _is_count(height):
        size = f"{width} x {height}" if width == height else f"{width} wide x {height} high"
    computed = profile.computed_size
    if size and computed is not None:
        size += f" (computed at {computed.width} x {computed.height})"
    if _is_count(frames):
        size = f"{size}, {numbers.times(frames, 'frame')}" if size else numbers.times(frames, "frame")
    return size


def _steps(profile: Profile) -> str:
    requested, executed = profile.request.value("num_inference_steps"), profile.steps.count
    if len(profile.steps.stages) > 1:
        return " + ".join(numbers.exact(stage.count) for stage in profile.steps.stages) + " steps"
    if not _is_count(requested):
        return numbers.times(executed, "step") if executed else ""
    differs = executed and executed != requested
    return numbers.times(requested, "step") + (f" ({numbers.exact(executed)} executed)" if differs else "")


def _guidance(profile: Profile) -> str:
    scale = profile.request.value("guidance_scale")
    if _is_number(scale):
        return f"guidance {scale:g}"
    given = profile.request.arguments
    return " · ".join(f"{name} {given[name]:g}" for name in _OTHER_GUIDANCE if _is_number(given.get(name)))


def _prompts(profile: Profile) -> str:
    prompt = profile.request.arguments.get("prompt")
    return numbers.times(len(prompt), "prompt") if isinstance(prompt, list | tuple) and len(prompt) > 1 else ""


def _batch(profile: Profile) -> str:
    count = profile.request.value("num_images_per_prompt") or profile.request.value("num_videos_per_prompt")
    return f"{count} per prompt" if _is_count(count) and count > 1 else ""


def _dtype(profile: Profile) -> str:
    if profile.request.dtype:
        return profile.request.dtype
    denoisers = [part.dtype for part in profile.components.values() if part.role == "denoiser"]
    return denoisers[0] if denoisers else ""


def _other_arguments(profile: Profile) -> list[str]:
    """Other arguments of the request, such as ``denoising_end 0.8``, if they are short."""
    request = profile.request
    guidance_names = () if _is_number(request.value("guidance_scale")) else _OTHER_GUIDANCE
    others = [
        f"{name} {_scalar(value).removeprefix(f'{name} ')}"  # "image 64x32" names itself
        for name, value in request.arguments.items()
        if name not in _SHOWN_ELSEWHERE and name not in guidance_names and 0 < len(_scalar(value)) <= LONGEST_ARGUMENT
    ]
    return others[:MOST_OTHER_ARGUMENTS]


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, int | str) else ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def summary(profile: Profile, verbose: bool = False) -> list[tuple[str, str]]:
    """The lines below the table, each with its label; a page calls the ledger what it says."""
    total = profile.total
    lines = [
        ("Total", f"{numbers.macs(total.macs)} = {numbers.flops(total.flops)} (1 MAC = 2 FLOPs)"),
        ("", f"exactly {numbers.exact(total.macs)} MACs = {numbers.exact(total.flops)} FLOPs"),
        ("Other", f"{numbers.flops(total.other_flops)} of softmax, norms, activations and the like, not in the total"),
        ("Weights", _weights(profile)),
    ]
    lines += [("Steps", line) for line in stage_lines(profile)]
    lines += [("Settings", line) for line in recommended_settings(profile)]
    lines += [("" if number else "Text", line) for number, line in enumerate(text_lines(profile, verbose))]
    lines.append(("Counted", _coverage(profile.ledger)))
    lines += [("Range", describe_macs_range(profile.macs_range))] if profile.macs_range else []
    lines += [("" if number else "Changed", text) for number, text in enumerate(size_changes(profile))]
    lines += _assumptions(profile.ledger.assumptions, verbose)
    return lines


def recommended_settings(profile: Profile) -> list[str]:
    """A sentence on the arguments that nobody gave, if the catalogue has recommended some."""
    given = profile.request.arguments
    named = [f"{name} {_scalar(given[name]) or given[name]}" for name in profile.request.recommended if name in given]
    if not named:
        return []
    return [f"{', '.join(named)} as recommended for the model; --pipeline-defaults uses the pipeline's own"]


def text_lines(profile: Profile, all_texts: bool = False) -> list[str]:
    """How long the texts of each encoder were: where a longer text would cost more, or of all of them."""
    lines = []
    for text in profile.texts:
        if all_texts or not text.is_padded:
            counts = " and ".join(numbers.exact(count) for count in text.tokens)
            padded = f", padded to {numbers.exact(text.length)}" if any(n < text.length for n in text.tokens) else ""
            whose = "by a stand-in tokenizer" if text.is_stand_in else "by its own tokenizer"
            lines.append(f"{text.encoder}: {counts} tokens{padded}, {whose}")
    return lines


def describe_macs_range(between: MacsRange) -> str:
    """Why one number of MACs is not the whole truth."""
    least, most = numbers.exact(between.least), numbers.exact(between.most)
    return f"from {least} to {most} MACs: how much the cache skips depends on the weights; the count is the maximum"


def size_changes(profile: Profile) -> list[str]:
    """A sentence for each size that the pipeline did not take as it was requested."""
    sentences = [
        f"requested {change.argument} {change.requested}; the pipeline generates {change.made}"
        for change in profile.resized
    ]
    size = profile.computed_size
    if size is not None:
        made = f"{size.made_width}x{size.made_height}"
        sentences.append(f"the pipeline computes at {size.width}x{size.height} and resizes to {made}")
    return sentences


def versions(profile: Profile) -> str:
    """``diffprof 0.1.0, python 3.11.7, torch 2.8.0, ...``"""
    return ", ".join(f"{name} {version}" for name, version in vars(profile.environment).items())


def _weights(profile: Profile) -> str:
    total = profile.total
    buffers = f" and {numbers.exact(total.buffers)} buffer elements" if total.buffers else ""
    size = numbers.both_bytes(total.weight_bytes)
    return f"{numbers.exact(total.parameters)} parameters{buffers}, {size}{_other_dtypes(profile)}"


def _other_dtypes(profile: Profile) -> str:
    """An explanation if the size is not that of the headline's dtype."""
    total, dtype = profile.total, _dtype(profile)
    if dtype not in _ITEM_BYTES:
        return ""
    by_dtype = _bytes_by_dtype(profile)
    if any(not name.startswith(_PLAIN_DTYPES) for name in by_dtype):
        # Weights in fewer bits: how many decides whether the model fits.
        sizes = sorted(by_dtype.items(), key=lambda pair: -pair[1])
        return f": {', '.join(f'{numbers.gigabytes(size)} in {name}' for name, size in sizes)}"
    more = total.weight_bytes - _ITEM_BYTES[dtype] * (total.parameters + total.buffers)
    held = set(by_dtype) or {part.dtype for part in profile.components.values() if part.weight_bytes}
    others = sorted(name for name in held - {dtype} if "float" in name)
    if more and others:
        return f", some in {' and '.join(others)}"
    # Buffers may be 8-byte integers: what they can explain says nothing about the parameters.
    return ", some in float32" if _ITEM_BYTES[dtype] == 2 and more > 6 * total.buffers else ""


_PLAIN_DTYPES = ("float16", "bfloat16", "float32", "float64", "int64", "int32", "bool")


def _bytes_by_dtype(profile: Profile) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for part in profile.components.values():
        for name, size in part.weight_bytes_by_dtype.items():
            sizes[name] = sizes.get(name, 0) + size
    return sizes


def stage_lines(profile: Profile) -> list[str]:
    """One sentence for each denoising loop: its steps and their MACs."""
    lines = []
    for stage in profile.steps.stages:
        what = ", ".join(stage.denoisers) or "the denoiser"
        steps = numbers.times(stage.count, "denoising step")
        lines.append(f"{steps} of {what} with {stage.scheduler}, {_step_macs(stage)}")
    return lines


def _step_macs(stage: Stage) -> str:
    if stage.count == 1:
        return numbers.macs(stage.macs)
    alike = stage.step_macs.count(stage.macs)
    if alike == stage.count:
        return f"{numbers.macs(stage.macs)} each"
    if 2 * alike > stage.count:
        return f"mostly {numbers.macs(stage.macs)} each"
    return f"{numbers.macs_between(min(stage.step_macs), max(stage.step_macs))} each"


def _coverage(ledger: Ledger) -> str:
    if not ledger.executed_ops:
        return "no operation was executed."
    ops, moved = share(ledger.known_ops, ledger.executed_ops), share(ledger.known_bytes, ledger.moved_bytes)
    known = (
        f"{numbers.percent(ops)} of {numbers.exact(ledger.executed_ops)} executed operations "
        f"and {numbers.percent(moved)} of their bytes are accounted for"
    )
    if not ledger.unknown:
        return f"{known}."
    names = ", ".join(f"{name} ({numbers.exact(count)}x)" for name, count in ledger.unknown.items())
    return f"{known}; without a formula: {names}."


def _assumptions(assumptions: Sequence[str], verbose: bool) -> list[tuple[str, str]]:
    if not assumptions:
        return [("Assumed", "nothing.")]
    if verbose or len(assumptions) == 1:
        return [("Assumed" if not number else "", f"{number + 1}. {text}") for number, text in enumerate(assumptions)]
    rest = len(assumptions) - 1
    return [("Assumed", f"{assumptions[0]} (and {rest} more: --verbose)")]
