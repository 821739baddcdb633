"""Modular pipelines: their class, their blocks and the inputs of those."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.pipelines.building.modular import block_inputs, build_modular, is_blocks, modular_class, register_parts
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan


def blueprint(**config: Any) -> Blueprint:
    parts = {slot: PartPlan(slot, "diffusers", "A") for slot in ("unet", "extra")}
    return Blueprint("m", "folder", "P", parts, config)


class Pipeline:
    """As much of a modular pipeline as is put together."""

    _component_specs: dict[str, Any] = {"unet": None, "vae": None}  # noqa: RUF012  as diffusers has it
    _config_specs: dict[str, Any] = {"size": None, "depth": None}  # noqa: RUF012

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def register_components(self, **parts: Any) -> None:
        self.given |= parts

    def register_to_config(self, **settings: Any) -> None:
        self.given |= settings


def test_only_a_modular_pipeline_of_diffusers_is_one() -> None:
    found = modular_class("ModularPipeline")
    assert found is not None and found.__name__ == "ModularPipeline"
    assert [modular_class(name) for name in ("StableDiffusionPipeline", "ModularNothing", "Modular.os")] == [None] * 3


def test_components_and_settings_that_the_blocks_do_not_know_are_left_out() -> None:
    pipeline = Pipeline()
    register_parts(pipeline, blueprint(size=3, colour=4), lambda plan: plan.slot.upper())
    assert pipeline.given == {"unet": "UNET", "size": 3}


def test_inputs_of_blocks_are_arguments_of_a_call() -> None:
    parts = [
        SimpleNamespace(name="prompt", default=None, type_hint=str),
        SimpleNamespace(name=None, default=1, type_hint=int),
    ]
    found = block_inputs(SimpleNamespace(blocks=SimpleNamespace(inputs=parts)))
    assert list(found) == ["prompt"]
    assert (found["prompt"].kind, found["prompt"].annotation) == (inspect.Parameter.KEYWORD_ONLY, str)


def test_blocks_have_no_components_yet() -> None:
    assert is_blocks(SimpleNamespace(init_pipeline=1, expected_components=2)) and not is_blocks(Pipeline())


def test_what_cannot_be_put_together_is_refused_in_a_sentence() -> None:
    class Broken(Pipeline):
        default_blocks_name = None

        def __init__(self, blocks: Any) -> None:
            raise ValueError("no blocks")

    with pytest.raises(RequestError, match=r"Broken cannot be assembled: .*no blocks"):
        build_modular(Broken, blueprint(), lambda plan: None, [])
