"""Shorten names from a trace for tables: kernels, functions, causes and alternatives."""

from __future__ import annotations

import re

from diffprof.render.clean import clean
from diffprof.traces import facts

CAUSES = {
    facts.HOST: "host too slow",
    facts.SYNCHRONISATION: "host waited",
    facts.LAUNCH: "launch in progress",
    facts.STREAM: "other stream or copy",
    facts.QUEUE: "between kernels",
    facts.SHORT: "short gaps",
    facts.UNEXPLAINED: "launch not recorded",
}

_NOISE = re.compile(r"^void |\(anonymous namespace\)::|at::native::|\{lambda\([^)]*\)#\d+\}|c10::|std::")
_COMPILED_CALL = re.compile(r"^## Call CompiledFxGraph (\w{6})\w* ##$")
_DIGEST = re.compile(r"^([a-z0-9]{8})[a-z0-9]{24,}(?=\.py)")


def short(name: str) -> str:
    """Remove what all names of a kind have in common, such as namespaces."""
    name = clean(name)
    compiled = _COMPILED_CALL.match(name)
    if compiled:
        return f"CompiledFxGraph {compiled[1]}"
    return short_path(name) if ".py(" in name else _NOISE.sub("", name)


def short_path(function: str) -> str:
    """``/usr/lib/python3/diffusers/models/unet.py(12): forward`` as ``models/unet.py(12): forward``."""
    path, colon, name = clean(function).partition("): ")
    folder, slash, file = "/".join(path.split("/")[-2:]).rpartition("/")
    # torch.compile names its files by a digest.
    file = _DIGEST.sub(r"\1...", file)
    return f"{folder}{slash}{file}{colon}{name}"


def alternative_name(alternative: facts.FusedAlternative | None) -> str:
    """Which fused attention could have run, with the reason; empty if the question does not arise."""
    if alternative is None:
        return ""
    head = alternative.head_size
    return {
        facts.AlternativeReason.fits: alternative.backend,
        facts.AlternativeReason.pads_heads: f"{alternative.backend}, which pads heads",
        facts.AlternativeReason.takes_bias: f"{alternative.backend}: it takes a mask or bias",
        facts.AlternativeReason.half_precision: f"{alternative.backend}; flash in half precision",
        facts.AlternativeReason.large_head: f"{alternative.backend}: a head size of {head} is too large for flash",
        facts.AlternativeReason.odd_head: f"none: a head size of {head} is not a multiple of 8",
        facts.AlternativeReason.float64: "none: float64 has no fused kernel",
        facts.AlternativeReason.no_shapes: "unknown: shapes were not recorded",
    }[alternative.reason]
