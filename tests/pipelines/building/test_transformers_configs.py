"""A model of transformers gets the part of a configuration that is its own, and no dtypes."""

from __future__ import annotations

import transformers

from diffprof.pipelines.building.transformers_configs import transformers_config
from diffprof.pipelines.plans.blueprint import PartPlan

PLAN = PartPlan("text_encoder", "transformers", "CLIPTextModel")


def test_a_text_model_takes_its_part_of_the_configuration_of_a_larger_one() -> None:
    whole = {"model_type": "clip", "text_config": {"model_type": "clip_text_model", "hidden_size": 48}}
    assert transformers_config(transformers.CLIPTextModel, PLAN, whole).hidden_size == 48


def test_dtypes_and_code_of_the_repository_are_left_out_at_any_depth() -> None:
    inner = {"hidden_size": 48, "torch_dtype": "float16", "auto_map": {"AutoModel": "mine.Model"}}
    made = transformers_config(transformers.CLIPModel, PLAN, {"text_config": inner, "dtype": "bfloat16"})
    assert made.text_config.hidden_size == 48
    assert made.text_config.dtype is None
    assert made.dtype is None
    assert not hasattr(made.text_config, "auto_map")
