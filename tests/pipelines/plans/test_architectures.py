"""The type of a checkpoint is found by diffusers' own tables, and weights are held against the model that is built."""

from __future__ import annotations

import pytest
import torch
from diffusers import ZImageTransformer2DModel
from diffusers.loaders.single_file_utils import DIFFUSERS_DEFAULT_PIPELINE_PATHS

from diffprof.errors import RequestError
from diffprof.pipelines.headers.header import StoredTensor
from diffprof.pipelines.headers.stored_weights import stored_weights
from diffprof.pipelines.plans.architectures import check_fit, infer_architecture


def stored(**shapes: tuple[int, ...]) -> dict[str, StoredTensor]:
    return {name.replace("__", "."): StoredTensor(shape, "float16", 2) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("tensors", "kind"),
    [
        (stored(double_blocks__0__img_attn__norm__key_norm__scale=(128,)), "flux-schnell"),
        (
            stored(
                model__diffusion_model__double_blocks__0__img_attn__norm__key_norm__scale=(128,),
                model__diffusion_model__guidance_in__in_layer__bias=(3072,),
                model__diffusion_model__img_in__weight=(3072, 384),
            ),
            "flux-fill",
        ),
        (stored(conditioner__embedders__1__model__transformer__resblocks__9__mlp__c_proj__bias=(1280,)), "xl_base"),
        (stored(head__modulation=(1, 2, 1536), patch_embedding__weight=(1536, 16, 1, 2, 2)), "wan-t2v-1.3B"),
        (stored(model__diffusion_model__input_blocks__0__0__weight=(320, 4, 3, 3)), "v1"),
    ],
)
def test_checkpoints_are_of_the_type_that_diffusers_sees(tensors: dict[str, StoredTensor], kind: str) -> None:
    found = infer_architecture(tensors)
    assert found is not None
    assert found.kind == kind
    assert found.hub_id == DIFFUSERS_DEFAULT_PIPELINE_PATHS[kind]["pretrained_model_name_or_path"]


def test_what_diffusers_does_not_know_has_no_type() -> None:
    assert infer_architecture(stored(strange=(3,))) is None, "diffusers would take it for Stable Diffusion 1"
    broken = {"joint_blocks__0__context_block__adaLN_modulation__1__bias": (9216,)}
    assert infer_architecture(stored(**broken)) is None, "its code would look for a tensor that is not there"


def test_weights_are_held_against_the_model() -> None:
    model = torch.nn.Linear(4, 3)
    assert check_fit("part", model, stored_weights(stored(weight=(3, 4), bias=(3,)))) == []
    more = stored_weights(stored(weight=(3, 4), bias=(3,), other=(5,)))
    assert check_fit("part", model, more) == ["the file holds 20 elements for part, whose class has 15 parameters"]
    other = stored_weights(stored(weight=(3, 5), bias=(3,)))
    with pytest.raises(RequestError, match="weight is 3x5 in the file and 3x4 in the configuration; 18 elements"):
        check_fit("part", model, other)
    assert check_fit("part", model, other, must_fit=False) == [
        "the file holds 18 elements for part, whose class has 15 parameters"
    ]
    with pytest.raises(RequestError, match="it lacks bias"):
        check_fit("part", model, stored_weights(stored(weight=(3, 4))))


def test_names_that_are_partly_those_of_diffusers_are_converted() -> None:
    with torch.device("meta"):
        model = ZImageTransformer2DModel(
            dim=256, n_layers=1, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=8
        )
    original = {
        name.replace("all_x_embedder.2-1", "x_embedder").replace("all_final_layer.2-1", "final_layer"): weight.shape
        for name, weight in model.state_dict().items()
    }
    names = {
        f"model.diffusion_model.{name}": StoredTensor(tuple(shape), "bfloat16", 2) for name, shape in original.items()
    }
    names["model.diffusion_model.norm_final.weight"] = StoredTensor((256,), "bfloat16", 2)
    (sentence,) = check_fit("transformer", model, stored_weights(names))
    assert sentence.startswith("the file holds")
