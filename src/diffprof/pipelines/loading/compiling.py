"""Compile the denoisers of a pipeline with torch, as a whole or block by block."""

from __future__ import annotations

from typing import Any

from diffprof.errors import RequestError
from diffprof.pipelines.components import components_of, role_of


def compile_denoisers(pipeline: Any, mode: str) -> None:
    """Pass every denoiser to `torch.compile`; torch compiles it in its first call."""
    denoisers = {slot: part for slot, part in components_of(pipeline).items() if role_of(slot, part) == "denoiser"}
    if not denoisers:
        raise RequestError(f"{type(pipeline).__name__} has no denoiser to compile; leave --compile out")
    for slot, part in denoisers.items():
        denoiser: Any = part
        if mode == "whole":
            denoiser.compile()
        elif not getattr(denoiser, "_repeated_blocks", None):
            raise RequestError(
                f"{slot} ({type(denoiser).__name__}) does not say which of its blocks repeat; use --compile whole"
            )
        else:
            denoiser.compile_repeated_blocks()
