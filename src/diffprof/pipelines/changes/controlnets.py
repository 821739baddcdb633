"""Add a ControlNet to a pipeline without weights, and find the pipeline class that uses it."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from diffprof.catalogue.names import is_model_folder
from diffprof.errors import RequestError, first_line
from diffprof.pipelines.building.build import build_virtual_model, explain_config_errors, virtual_weights
from diffprof.pipelines.components import components_of, role_of
from diffprof.pipelines.patching import Patches
from diffprof.pipelines.plans.blueprint import PartPlan
from diffprof.pipelines.plans.classes import part_class
from diffprof.pipelines.plans.controlnet_folders import controlnet_class, folder_of
from diffprof.pipelines.plans.fitting import unknown_keys_sentence
from diffprof.pipelines.plans.folder import read_json
from diffprof.pipelines.plans.source import blueprint_of

USUAL = "usual"
"""The name for a ControlNet of the shape that most published ones for a denoiser have."""

USUAL_DEPTHS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "FluxTransformer2DModel": ("FluxControlNetModel", {"num_layers": 5, "num_single_layers": 10}),
    "SD3Transformer2DModel": ("SD3ControlNetModel", {"num_layers": 6, "extra_conditioning_channels": 0}),
    "QwenImageTransformer2DModel": ("QwenImageControlNetModel", {"num_layers": 5, "extra_condition_channels": 0}),
}
"""For each class of transformer: the class of its ControlNets, and how those of InstantX, the first published ones,
differ from the transformer. A ControlNet for a UNet is its first half."""


def add_controlnets(pipeline: Any, names: Sequence[str], dtype: torch.dtype) -> tuple[Any, list[str]]:
    """Create the pipeline of diffusers that uses these ControlNets; return it with the assumptions made."""
    assumptions: list[str] = []
    nets = [_controlnet(pipeline, name, dtype, assumptions) for name in names]
    try:
        # Some pipelines build a model from others (SD3.5 copies the position table), which must be virtual too.
        with Patches() as patches, virtual_weights(patches, dtype):
            made = _pipeline_class(pipeline, nets).from_pipe(pipeline, controlnet=nets[0] if len(nets) == 1 else nets)
    except Exception as error:
        raise RequestError(
            f"diffusers has no pipeline that uses a ControlNet with {type(pipeline).__name__} ({first_line(error)})"
        ) from error
    if "controlnet" not in components_of(made):
        raise RequestError(f"diffusers has no pipeline that uses a ControlNet with {type(pipeline).__name__}")
    return made, assumptions


SUFFIXES = {"SparseControlNetModel": "SparseControlNetPipeline", "ControlNetXSAdapter": "ControlNetXSPipeline"}
"""The suffix of pipelines for special classes of ControlNets; all others share one."""


def _pipeline_class(pipeline: Any, nets: Sequence[Any]) -> Any:
    """Return the pipeline class for a ControlNet: diffusers' own lookup misses a few with the usual naming."""
    import diffusers
    from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING

    suffix = SUFFIXES.get(type(nets[0]).__name__)
    if suffix is not None:
        return getattr(diffusers, type(pipeline).__name__.removesuffix("Pipeline") + suffix)
    own = getattr(diffusers, type(pipeline).__name__.removesuffix("Pipeline") + "ControlNetPipeline", None)
    is_left_out = own is not None and own not in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values()
    return own if is_left_out else diffusers.AutoPipelineForText2Image


def _controlnet(pipeline: Any, name: str, dtype: torch.dtype, assumptions: list[str]) -> Any:
    denoiser: Any = next(part for slot, part in components_of(pipeline).items() if role_of(slot, part) == "denoiser")
    if name != USUAL:
        net = _published_controlnet(name, dtype, assumptions)
        _check_fit(name, net, denoiser)
        return net
    import diffusers

    with Patches() as patches, virtual_weights(patches, dtype):
        if type(denoiser).__name__ == "UNet2DConditionModel":
            assumptions.append("the ControlNet is the first half of the UNet, as diffusers makes it")
            return diffusers.ControlNetModel.from_unet(denoiser, load_weights_from_unet=False).eval()
        class_name, depths = USUAL_DEPTHS.get(type(denoiser).__name__, ("", {}))
        if not class_name:
            raise RequestError(
                f"there is no usual ControlNet for a {type(denoiser).__name__}; give a folder with its config.json"
            )
        owner = getattr(diffusers, class_name)
        # Not `from_config`, which prefers the defaults that a configuration lists to the changed values.
        config = {key: value for key, value in {**denoiser.config, **depths}.items() if key in _parameters(owner)}
        net = owner(**config).eval()
    differences = ", ".join(f"{key} {value}" for key, value in depths.items())
    assumptions.append(f"the ControlNet is the transformer with {differences}, as published by InstantX")
    return net


def _check_fit(name: str, net: Any, denoiser: Any) -> None:
    """Refuse a ControlNet for another architecture, or of other sizes."""
    owner = type(denoiser).__name__
    known = [USUAL_DEPTHS[owner][0]] if owner in USUAL_DEPTHS else list(UNET_CONTROLNETS.get(owner, ()))
    if known and type(net).__name__ not in known:
        raise RequestError(f"{name} is a {type(net).__name__}, which is not a ControlNet for a {owner}")
    for key in MATCHING_KEYS:
        own, expected = net.config.get(key), denoiser.config.get(key)
        if own is not None and expected is not None and own != expected:
            raise RequestError(f"{name} is not a ControlNet for this {owner}: its {key} is {own} and not {expected}")


UNET_CONTROLNETS = {
    "UNet2DConditionModel": ("ControlNetModel", "ControlNetUnionModel", "ControlNetXSAdapter"),
    "UNetMotionModel": ("ControlNetModel", "SparseControlNetModel"),
}
"""The classes of ControlNets for each class of UNet."""

MATCHING_KEYS = (
    "cross_attention_dim",
    "joint_attention_dim",
    "projection_class_embeddings_input_dim",
    "encoder_hid_dim",
)
"""Keys of the configuration that identify the model of a ControlNet, because its inputs have these sizes."""


def _parameters(owner: Any) -> Collection[str]:
    return inspect.signature(owner.__init__).parameters.keys()


def _published_controlnet(name: str, dtype: torch.dtype, assumptions: list[str]) -> Any:
    """Build the ControlNet of a folder with its configuration, or of a model that has one."""
    plan = _plan(name)
    config = {key: value for key, value in plan.config.items() if key != "quantization_config"}
    owner = part_class(plan.library, plan.class_name, plan.config)
    if "ControlNet" not in owner.__name__:
        raise RequestError(f"{name} is a {owner.__name__}, not a ControlNet")
    assumptions += filter(None, [unknown_keys_sentence(plan, owner)])
    with explain_config_errors(plan):
        return build_virtual_model(owner, plan, config, dtype)


def _plan(name: str) -> PartPlan:
    folder = folder_of(name)
    if folder is not None and not is_model_folder(folder) and (folder / "config.json").is_file():
        config = read_json(folder / "config.json")
        return PartPlan("controlnet", "diffusers", controlnet_class(config), config)
    plan = blueprint_of(name).parts.get("controlnet")
    if plan is None:
        raise RequestError(f"{name} has no ControlNet; give {USUAL}, a folder with a config.json or a model with one")
    return plan
