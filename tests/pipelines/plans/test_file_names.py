"""Of several models with the same weights, a file is the one that its name speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.catalogue import find
from diffprof.pipelines.plans.file_names import most_likely_entry

FLUX = ("flux.1-dev", "flux.1-kontext-dev")
WAN = ("skyreels-v2-df-14b", "wan2.1-t2v-14b", "wan2.2-t2v-a14b")


@pytest.mark.parametrize(
    ("names", "file", "inferred", "expected"),
    [
        (FLUX, "flux1-dev.safetensors", "black-forest-labs/FLUX.1-dev", "flux.1-dev"),
        (FLUX, "flux1-dev-kontext_fp8_scaled.safetensors", "black-forest-labs/FLUX.1-dev", "flux.1-kontext-dev"),
        (FLUX, "my-style.safetensors", "black-forest-labs/FLUX.1-dev", "flux.1-dev"),
        (FLUX, "my-style.safetensors", None, "flux.1-dev"),
        (("flux.1-depth-dev", "flux.1-dev"), "ae.safetensors", None, "flux.1-dev"),
        (WAN, "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors", None, "wan2.2-t2v-a14b"),
        (WAN, "wan2.1-t2v-14b-Q4_K_M.gguf", None, "wan2.1-t2v-14b"),
        (WAN, "diffusion_pytorch_model.safetensors", None, "wan2.1-t2v-14b"),
        (("sdxl-turbo", "playground-v2.5", "sdxl"), "juggernautXL_v9.safetensors", None, "sdxl"),
    ],
)
def test_the_name_of_a_file_decides_then_diffusers_and_then_age(
    names: tuple[str, ...], file: str, inferred: str | None, expected: str
) -> None:
    entries = [entry for entry in map(find, names) if entry is not None]
    assert most_likely_entry(entries, Path(file), inferred).name == expected
