"""A profile becomes a file, a dictionary, a table, a report or one side of a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.errors import RequestError
from diffprof.record.files import from_json, load
from tests.sample_profiles import UNET_MACS, everything_measured, stable_diffusion


def test_a_saved_profile_is_loaded_as_it_was(tmp_path: Path) -> None:
    assert load(stable_diffusion().save(tmp_path / "p.json")) == stable_diffusion()


def test_the_dictionary_holds_the_whole_profile() -> None:
    assert from_json(stable_diffusion().to_dict()) == stable_diffusion()


def test_iterating_gives_the_components() -> None:
    assert [component.slot for component in stable_diffusion()] == list(stable_diffusion().components)


def test_a_data_frame_has_the_exact_numbers() -> None:
    frame = stable_diffusion().to_dataframe().set_index("component")
    assert frame.loc["unet", "macs"] == 31 * UNET_MACS


@pytest.mark.parametrize("by", ["component", "kind", "module", "attention", "call", "operation", "step", "system"])
def test_every_table_of_a_measured_profile_is_a_data_frame(by: str) -> None:
    assert len(everything_measured().to_dataframe(by).columns) > 3


def test_a_table_that_a_profile_does_not_have_is_refused_with_those_it_has() -> None:
    with pytest.raises(RequestError, match=r"no table by 'step'; it has component, kind"):
        stable_diffusion().to_dataframe("step")


def test_a_report_is_one_page(tmp_path: Path) -> None:
    page = stable_diffusion().report(tmp_path / "report.html")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_comparison_shows_itself() -> None:
    comparison = stable_diffusion().compare(stable_diffusion(steps=40, unet_calls=41))

    assert repr(comparison) == "<Comparison of sd-2.1-base (1), sd-2.1-base (2)>"
    assert "num_inference_steps" in str(comparison)
    assert "<table>" in comparison._repr_html_()


def test_a_call_is_one_line() -> None:
    assert repr(stable_diffusion().calls[2]) == f"<Call of unet.forward, step 0: {UNET_MACS:,} MACs>"
