"""Sentences about a profile: the request, the totals, and what the count covers."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.breakdown.shares import share
from diffprof.record.execution import execution_of
from diffprof.record.profile import Ledger, MacsRange, Profile, Stage
from diffprof.render import numbers
from diffprof.render.request_line import request_line, scalar_text, size_words, step_words

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
    """Model, size, steps, guidance, dtype: ``sd-2.1-base · 512 x 512 · 30 steps · guidance 7.5 · float16``."""
    return request_line(profile.request, execution_of(profile))


def composition(profile: Profile) -> str:
    """The pipeline's class, where it came from, and which features are enabled."""
    request = profile.request
    switches = [f"scheduler {request.scheduler}"] if request.scheduler else []
    switches += [f"{name} on" for name in request.enable]
    return ", ".join([request.pipeline, _SOURCES.get(request.source, request.source), *switches])


def requested_size(profile: Profile) -> str:
    """``1024 x 1024``, with the frames of a video; empty if the pipeline has no size."""
    return size_words(profile.request, execution_of(profile))


def executed_steps(profile: Profile) -> str:
    """``30 (31 executed)``, or one number if both are the same."""
    return step_words(profile.request, execution_of(profile)).replace(" steps", "").replace(" step", "")


def summary(profile: Profile, verbose: bool = False) -> list[tuple[str, str]]:
    """The lines below the table, each with its label."""
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
    """A sentence about the arguments that the catalogue recommended, if there are any."""
    given = profile.request.arguments
    named = [
        f"{name} {scalar_text(given[name]) or given[name]}" for name in profile.request.recommended if name in given
    ]
    if not named:
        return []
    return [f"{', '.join(named)} as recommended for the model; --pipeline-defaults uses the pipeline's own"]


def text_lines(profile: Profile, all_texts: bool = False) -> list[str]:
    """The number of tokens of each text encoder; without `all_texts`, only where more tokens would cost more."""
    lines = []
    for text in profile.texts:
        if all_texts or not text.is_padded:
            counts = " and ".join(numbers.exact(count) for count in text.tokens)
            padded = f", padded to {numbers.exact(text.length)}" if any(n < text.length for n in text.tokens) else ""
            whose = "by a stand-in tokenizer" if text.is_stand_in else "by its own tokenizer"
            lines.append(f"{text.encoder}: {counts} tokens{padded}, {whose}")
    return lines


def describe_macs_range(between: MacsRange) -> str:
    """A sentence about MACs that are only known within a range."""
    least, most = numbers.exact(between.least), numbers.exact(between.most)
    return f"from {least} to {most} MACs: how much the cache skips depends on the weights; the count is the maximum"


def size_changes(profile: Profile) -> list[str]:
    """A sentence for each requested size that the pipeline changed."""
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
    total, dtype = profile.total, execution_of(profile).dtype
    if dtype not in _ITEM_BYTES:
        return ""
    by_dtype = _bytes_by_dtype(profile)
    if any(not name.startswith(_PLAIN_DTYPES) for name in by_dtype):
        # Quantized: how much is stored in which format decides whether the model fits.
        sizes = sorted(by_dtype.items(), key=lambda pair: -pair[1])
        return f": {', '.join(f'{numbers.gigabytes(size)} in {name}' for name, size in sizes)}"
    more = total.weight_bytes - _ITEM_BYTES[dtype] * (total.parameters + total.buffers)
    held = set(by_dtype) or {part.dtype for part in profile.components.values() if part.weight_bytes}
    others = sorted(name for name in held - {dtype} if "float" in name)
    if more and others:
        return f", some in {' and '.join(others)}"
    # Buffers may be 8-byte integers; bytes that these can account for say nothing about the parameters.
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
    equal_steps = stage.step_macs.count(stage.macs)
    if equal_steps == stage.count:
        return f"{numbers.macs(stage.macs)} each"
    if 2 * equal_steps > stage.count:
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
