"""The index of a modular pipeline: components may lie in other folders and other repositories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.plans.folder import from_folder
from diffprof.pipelines.plans.modular_entries import is_modular_entry, known_part, modular_entry

SDXL = "stabilityai/stable-diffusion-xl-base-1.0"


def entry(class_name: str, repository: str = SDXL, **place: Any) -> list[Any]:
    library = "transformers" if class_name.startswith("CLIP") else "diffusers"
    where = {"pretrained_model_name_or_path": repository, "type_hint": [library, class_name], **place}
    return [None, None, where]


def test_the_class_is_that_of_the_entry_or_its_hint() -> None:
    found = modular_entry("unet", entry("UNet2DConditionModel", subfolder="denoiser", revision="abc"))
    assert found is not None
    assert (found.library, found.class_name, found.subfolder) == ("diffusers", "UNet2DConditionModel", "denoiser")
    assert (found.repository, found.remote_folder, found.revision) == (SDXL, "denoiser", "abc")
    assert modular_entry("unet", [None, None, {"type_hint": None}]) is None
    assert modular_entry("unet", ["diffusers", "UNet2DConditionModel"]) is None
    assert is_modular_entry([None, None, {}]) and not is_modular_entry([None, None])


@pytest.mark.parametrize("subfolder", ["../other", "/etc", "a/b"])
def test_a_component_outside_of_its_folder_is_refused(subfolder: str) -> None:
    with pytest.raises(UnsafeModelError, match="outside of its folder"):
        modular_entry("unet", entry("UNet2DConditionModel", subfolder=subfolder))


def test_only_the_name_of_a_repository_is_one() -> None:
    found = modular_entry("unet", entry("UNet2DConditionModel", repository="/home/me/model"))
    assert found is not None and found.repository is None


def test_a_component_of_a_model_that_the_catalogue_has_needs_no_files() -> None:
    found = modular_entry("denoiser", entry("UNet2DConditionModel", subfolder="unet"))
    other = modular_entry("denoiser", entry("UNet2DModel", subfolder="unet"))
    assert found is not None and other is not None
    part = known_part(found)
    assert part is not None and (part.slot, part.parameters) == ("denoiser", 2567463684)
    assert known_part(other) is None, "it has another class there"


def test_an_index_alone_is_a_model_where_its_components_are_known(tmp_path: Path) -> None:
    index = {
        "_class_name": "StableDiffusionXLModularPipeline",
        "unet": entry("UNet2DConditionModel", subfolder="unet"),
        "tokenizer": entry("CLIPTokenizerFast", subfolder="tokenizer"),
        "scheduler": entry("EulerDiscreteScheduler", subfolder="scheduler"),
    }
    (tmp_path / "modular_model_index.json").write_text(json.dumps(index))
    plan = from_folder(tmp_path, "mine")
    assert not any(part.is_missing for part in plan.parts.values())
    assert plan.parts["tokenizer"].tokenizer is not None
    assert f"unet is that of {SDXL}, as the catalogue has it" in plan.assumptions
    index["vae"] = entry("AutoencoderKL", repository="others/vae", subfolder="")
    index["net"] = entry("ControlNetModel", repository="others/net", subfolder="")
    (tmp_path / "modular_model_index.json").write_text(json.dumps(index))
    with pytest.raises(RequestError, match="fetch it from others/net"):
        from_folder(tmp_path, "mine")
