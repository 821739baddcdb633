"""The table for a model card."""

from __future__ import annotations

from diffprof.render.card import model_card
from tests.sample_profiles import everything_measured, stable_diffusion


def test_a_card_has_the_components_the_exact_total_and_the_versions() -> None:
    card = model_card(stable_diffusion())
    assert card.startswith("## Compute\n")
    assert "| unet | UNet2DConditionModel | 31 |" in card
    assert "exactly 26,234,368,094,208 MACs" in card
    assert "Counted with diffprof" in card
    assert "Measured on" not in card


def test_a_measured_profile_adds_its_time() -> None:
    assert "Measured on NVIDIA A100-SXM4-80GB: 59.7 ms" in model_card(everything_measured())
