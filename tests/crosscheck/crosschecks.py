"""A crosscheck of five tools, made by hand."""

from __future__ import annotations

from diffprof.crosscheck.result import (
    ATTENTION,
    CONVOLUTIONS,
    MATRIX_PRODUCTS,
    NORMS,
    SOFTMAX,
    SQUARED,
    Count,
    Crosscheck,
)

PARTS = {MATRIX_PRODUCTS: 259_844_341_760, CONVOLUTIONS: 418_360_852_480, ATTENTION: 126_052_270_080}


FIVE_TOOLS = Crosscheck(
    "sd-2.1-base", "unet", "UNet2DConditionModel", "forward", "sample 2x4x64x64, timestep scalar", 865_910_724,
    (
        Count("diffprof", "diffprof", sum(PARTS.values()), PARTS, 0.39, 409_000_000),
        Count(
            "thop-sdpa", "thop with a patch for attention", 806_000_000_000 + 2 * 10**9,
            {**PARTS, NORMS: 742_535_680, SOFTMAX: 10**9, SQUARED: 2 * 10**9}, 41.3, 5_100_000_000,
        ),
        Count("calflops", "calflops", reason="calflops is not installed"),
        Count("fvcore", "fvcore", reason="too large", needed_bytes=48_500_000_000, free_bytes=20_000_000_000),
        Count("torch-cpu", "torch FlopCounterMode, CPU", 678_205_194_240, {**PARTS, ATTENTION: 0}, 1203.0, 10**9),
    ),
)  # fmt: skip
