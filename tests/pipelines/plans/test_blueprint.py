"""The plan of a pipeline from an entry of the catalogue."""

from __future__ import annotations

import pytest

from diffprof import catalogue
from diffprof.pipelines.plans.blueprint import from_entry


@pytest.mark.parametrize("entry", catalogue.entries(), ids=[entry.name for entry in catalogue.entries()])
def test_every_unconfirmed_value_of_the_catalogue_is_an_assumption(entry: catalogue.Entry) -> None:
    blueprint = from_entry(entry)
    assert len(blueprint.assumptions) == len(entry.unconfirmed)
    assert all(any(reason in sentence for sentence in blueprint.assumptions) for reason in entry.unconfirmed)


def test_the_plan_of_an_entry_has_its_parts_with_only_the_values_that_differ_from_the_defaults() -> None:
    unet = catalogue.Part("unet", "UNet2DConditionModel", "diffusers", {"sample_size": 8}, parameters=5)
    facts = catalogue.TokenizerFacts(model_max_length=77, vocab_size=100)
    tokenizer = catalogue.Part("tokenizer", "CLIPTokenizer", "transformers", tokenizer=facts)
    plan = from_entry(
        catalogue.Entry(
            name="small", title="Small", media="image", hub_id="org/small", pipeline="StableDiffusionPipeline",
            dtype="float16", source="model card", unconfirmed=("components.unet: a guess",), call={"image": 1},
            components={"unet": unet, "tokenizer": tokenizer},
        )
    )  # fmt: skip
    assert (plan.name, plan.source, plan.pipeline, plan.dtype) == (
        "small", "catalogue", "StableDiffusionPipeline", "float16",
    )  # fmt: skip
    assert plan.call == {"image": 1}
    assert plan.assumptions == ("not confirmed by a published file: components.unet: a guess",)
    part = plan.parts["unet"]
    assert (part.config, part.only_differences, part.parameters) == ({"sample_size": 8}, True, 5)
    assert plan.parts["tokenizer"].tokenizer is facts
