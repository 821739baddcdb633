"""Autocast around a profile is seen: products are in the dtype that they are in for real."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

import diffprof
from diffprof.breakdown.dtypes import macs_by_dtype
from diffprof.counting.operations.autocast import Autocast, active_autocast
from tests.small_pipelines import SMALL_PIPELINES


class MacsByDtype(TorchDispatchMode):
    """A real run's MACs by the dtype of what comes out, with torch's own formulas."""

    def __init__(self) -> None:
        super().__init__()
        self.macs: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            macs = formula(*args, **(kwargs or {}), out_val=result) // 2
            self.macs[str(result.dtype).removeprefix("torch.")] += macs
        return result


@pytest.mark.parametrize("name", ["stable-diffusion", "flux"])
def test_products_are_in_the_dtype_that_they_are_in_for_real(name: str) -> None:
    small = SMALL_PIPELINES[name]
    pipeline = small.build()
    real = MacsByDtype()
    with torch.autocast("cpu", torch.bfloat16):
        profile = diffprof.profile(pipeline, **small.arguments())
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION), real:  # attention in one kernel, which torch has no formula for
            pipeline(**small.arguments())
    attention = sum(site.macs for call in profile.calls for site in call.cost.attention)
    counted = macs_by_dtype(profile.calls)
    assert counted == {"bfloat16": real.macs["bfloat16"] + attention}
    assert set(real.macs) == {"bfloat16"}
    denoiser = next(part for part in profile.components.values() if part.role == "denoiser")
    assert denoiser.dtype == "bfloat16"
    assert set(denoiser.weight_bytes_by_dtype) == {"float32"}


def test_without_autocast_nothing_is_cast() -> None:
    assert active_autocast("cpu") is None
    small = SMALL_PIPELINES["stable-diffusion"]
    profile = diffprof.profile(small.build(), **small.arguments())
    assert macs_by_dtype(profile.calls).keys() == {"float32"}


def test_a_model_by_name_has_the_dtype_that_was_requested() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        profile = diffprof.profile("dit-xl-2-256", steps=1, dtype="float16", use_cache=False)
    assert profile.components["transformer"].dtype == "float16"


def test_accelerators_raise_norms_to_float32_and_nobody_touches_float64() -> None:
    x, y = torch.ones(2, 2, dtype=torch.float16), torch.ones(2, 2, dtype=torch.float64)
    (cast,), _ = Autocast(torch.float16, raises=True).cast(torch.nn.functional.layer_norm, (x,), {})
    assert cast.dtype == torch.float32
    args, _ = Autocast(torch.bfloat16, raises=False).cast(torch.matmul, (x, y), {})
    assert [part.dtype for part in args] == [torch.bfloat16, torch.float64]
