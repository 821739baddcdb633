"""The sentences around the tables: what was asked, what it adds up to, and how far the count can be trusted."""

from __future__ import annotations

from diffprof.analyse.shares import share
from diffprof.profiles.record import Ledger, Profile
from diffprof.render import numbers


def headline(profile: Profile) -> str:
    """Model, size, steps, guidance, dtype: ``sd-2.1-base · 512 x 512 · 30 steps · guidance 7.5 · float16``."""
    parts = [_model(profile), _size(profile), _steps(profile), _guidance(profile), _batch(profile), _dtype(profile)]
    return " · ".join(part for part in parts if part)


def _model(profile: Profile) -> str:
    """The model's name; of a folder only the last part, which is what tells it from others."""
    model = profile.request.model
    return (
        (model.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or model)
        if profile.request.source == "folder"
        else model
    )


def _size(profile: Profile) -> str:
    height, width = profile.request.value("height"), profile.request.value("width")
    frames = profile.request.value("num_frames")
    sizes = [str(width), str(height)] if _is_count(width) and _is_count(height) else []
    size = " x ".join(sizes)
    if _is_count(frames):
        size = f"{size}, {numbers.times(frames, 'frame')}" if size else numbers.times(frames, "frame")
    return size


def _steps(profile: Profile) -> str:
    asked, executed = profile.request.value("num_inference_steps"), profile.steps.count
    if len(profile.steps.stages) > 1:
        return " + ".join(numbers.exact(stage.count) for stage in profile.steps.stages) + " steps"
    if not _is_count(asked):
        return numbers.times(executed, "step") if executed else ""
    differs = executed and executed != asked
    return numbers.times(asked, "step") + (f" ({numbers.exact(executed)} executed)" if differs else "")


def _guidance(profile: Profile) -> str:
    scale = profile.request.value("guidance_scale")
    return f"guidance {scale:g}" if isinstance(scale, int | float) and not isinstance(scale, bool) else ""


def _batch(profile: Profile) -> str:
    count = profile.request.value("num_images_per_prompt") or profile.request.value("num_videos_per_prompt")
    return f"{count} per prompt" if _is_count(count) and count > 1 else ""


def _dtype(profile: Profile) -> str:
    if profile.request.dtype:
        return profile.request.dtype
    denoisers = [part.dtype for part in profile.components.values() if part.role == "denoiser"]
    return denoisers[0] if denoisers else ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def summary(profile: Profile, verbose: bool = False) -> list[tuple[str, str]]:
    """The lines below the table, each with its label."""
    total = profile.total
    lines = [
        ("Total", f"{numbers.macs(total.macs)} = {numbers.flops(total.flops)} (1 MAC = 2 FLOPs)"),
        ("", f"exactly {numbers.exact(total.macs)} MACs = {numbers.exact(total.flops)} FLOPs"),
        ("Other", f"{numbers.flops(total.other_flops)} of softmax, norms, activations and the like, not in the total"),
        ("Weights", _weights(profile)),
    ]
    lines += [("Steps", line) for line in _stages(profile)]
    lines.append(("Ledger", _ledger(profile.ledger)))
    lines += _assumptions(profile.ledger.assumptions, verbose)
    if verbose:
        lines.append(("Made by", ", ".join(f"{name} {version}" for name, version in vars(profile.environment).items())))
    return lines


def _weights(profile: Profile) -> str:
    total = profile.total
    buffers = f" and {numbers.exact(total.buffers)} buffer elements" if total.buffers else ""
    size = numbers.both_bytes(total.weight_bytes)
    return f"{numbers.exact(total.parameters)} parameters{buffers}, {size}"


def _stages(profile: Profile) -> list[str]:
    lines = []
    for stage in profile.steps.stages:
        what = ", ".join(stage.denoisers) or "the denoiser"
        mostly = "" if len(set(stage.step_macs)) <= 1 else "mostly "
        lines.append(
            f"{numbers.times(stage.count, 'denoising step')} of {what} with {stage.scheduler}, "
            f"{mostly}{numbers.macs(stage.macs)} each"
        )
    return lines


def _ledger(ledger: Ledger) -> str:
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


def _assumptions(assumptions: tuple[str, ...], verbose: bool) -> list[tuple[str, str]]:
    if not assumptions:
        return [("Assumed", "nothing.")]
    if verbose or len(assumptions) == 1:
        return [("Assumed" if not number else "", f"{number + 1}. {text}") for number, text in enumerate(assumptions)]
    rest = len(assumptions) - 1
    return [("Assumed", f"{assumptions[0]} (and {rest} more: --verbose)")]
