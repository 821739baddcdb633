"""Fit a plan to its pipeline's class: choose the class, its dispensable components, and a stand-in for its guard."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy
import torch

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.classes import UnknownClassError, part_class, pipeline_class
from diffprof.pipelines.plans.folder import read_json

IGNORED_KEYS = (
    "quantization_config",
    "compression_config",
    "_attn_implementation",
    "attn_implementation",
    "torch_dtype",
    "auto_map",
    "trust_remote_code",
)
"""Keys of a configuration that affect the loading of weights, but not the model."""

NEEDED_SLOTS = ("text_encoder", "transformer", "unet", "prior", "decoder", "vae", "movq", "vqgan")
"""Components with most of the cost of a call: some pipelines can be created without them, but not called."""

PIPELINES_BY_COMPONENT = {("StableDiffusionXLPipeline", "ChatGLMModel"): "KolorsPipeline"}
"""Pipelines that were published before diffusers had a class for them, by their class and a component."""

EXPORTERS = ("optimum",)
"""Libraries that export models in another form, with an index like that of diffusers."""

CALLABLE_PIPELINES = {"VersatileDiffusionPipeline": "VersatileDiffusionTextToImagePipeline"}
"""Pipelines that only contain others and cannot be called: the one of them that takes a text."""


def fitting_pipeline(blueprint: Blueprint, assumptions: list[str]) -> Any:
    """Return the class of the pipeline, or, as an assumption, the one that its components belong to."""
    name = blueprint.pipeline
    for plan in blueprint.parts.values():
        other = PIPELINES_BY_COMPONENT.get((name, plan.class_name))
        if other is not None:
            assumptions.append(f"{plan.slot} is a {plan.class_name}: {other} takes the place of {name}")
            return pipeline_class(other)
    if name in CALLABLE_PIPELINES:
        assumptions.append(f"{CALLABLE_PIPELINES[name]} takes the place of {name}, which cannot be called")
        return pipeline_class(CALLABLE_PIPELINES[name])
    try:
        owner = pipeline_class(name)
    except UnsafeModelError:
        foreign = next((plan.library for plan in blueprint.parts.values() if plan.library in EXPORTERS), None)
        if foreign is not None:
            raise UnsafeModelError(
                f"the model was exported for {foreign} ({name}), which is not diffusers; "
                "count the model that it was exported from"
            ) from None
        if blueprint.own_module is None:
            raise
        raise UnsafeModelError(
            f"the model requires its own pipeline code ({blueprint.own_module}.{name}); "
            "diffprof only builds pipeline classes of diffusers and runs nothing from a model folder"
        ) from None
    if blueprint.own_module is not None:
        assumptions.append(f"{blueprint.own_module}.{name} is taken as diffusers' class of that name")
    return owner


def is_optional(pipeline: Any, slot: str) -> bool:
    """Whether the pipeline's class declares the component optional and really works without it."""
    parameter = inspect.signature(pipeline.__init__).parameters.get(slot)
    if parameter is None or slot.startswith(NEEDED_SLOTS):
        return False
    return slot in getattr(pipeline, "_optional_components", ())


def unknown_keys_sentence(plan: PartPlan, owner: Any) -> str | None:
    """Return a sentence about configuration keys that the diffusers model ignores; None if there are none."""
    parameters = inspect.signature(owner.__init__).parameters
    if getattr(owner, "config_class", None) is not None or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    named = {key for key, value in plan.config.items() if value is not None and not key.startswith("_")}
    unknown = sorted(named - parameters.keys() - set(IGNORED_KEYS))
    if not unknown:
        return None
    ignored = ", ".join(unknown[:5])
    return f"{plan.slot}: {owner.__name__} of the installed diffusers ignores {ignored} of its configuration"


def single_plans(plan: PartPlan) -> list[PartPlan]:
    """Return the plans of several ControlNets or adapters in one component, which are in adjacent folders.

    They are named ``controlnet``, ``controlnet_1``, ``controlnet_2``; empty for any other component.
    """
    if re.fullmatch(r"\w*Multi(ControlNet\w*|Adapter)", plan.class_name) is None or plan.folder is None:
        return []
    places = [plan.folder, *(plan.folder.with_name(f"{plan.folder.name}_{number}") for number in range(1, MAX_NETS))]
    found = []
    for place in itertools.takewhile(lambda place: (place / "config.json").is_file(), places):
        config = read_json(place / "config.json")
        usual = plan.class_name.replace("Multi", "") if "ControlNet" in plan.class_name else "T2IAdapter"
        name = str(config.get("_class_name") or usual)
        found.append(replace(plan, class_name=name, config=config, folder=place, is_missing=False))
    return found


MAX_NETS = 16


def is_guard(plan: PartPlan) -> bool:
    """Whether a component only checks prompts and results."""
    return plan.slot == "safety_checker"


def is_known_class(plan: PartPlan) -> bool:
    """Whether diffusers or transformers have the class, even if a package for it is missing."""
    try:
        part_class(plan.library, plan.class_name, plan.config)
    except (UnsafeModelError, UnknownClassError):
        return False
    except RequestError:
        return True
    return True


def with_current_class(pipeline: str, plan: PartPlan, assumptions: list[str]) -> PartPlan:
    """Return the plan of a component with the class that the pipeline's code now needs."""
    name = CURRENT_CLASSES.get((pipeline, plan.class_name))
    if name is None:
        return with_library_class(plan, assumptions)
    assumptions.append(f"{plan.slot} is a {name}, as {pipeline} needs it today, and not a {plan.class_name}")
    return replace(plan, class_name=name)


CURRENT_CLASSES = {("AudioLDM2Pipeline", "GPT2Model"): "GPT2LMHeadModel"}
"""By pipeline and component class: the class with methods that transformers once gave to all models."""


def with_library_class(plan: PartPlan, assumptions: list[str]) -> PartPlan:
    """Return the plan of a tokenizer or processor with a class of the libraries, which reads its files.

    The original class, from code of a repository or with an old name, is not needed for counting: only the lengths of
    texts and the sizes of images matter.
    """
    of_slot = next((general for word, general in GENERAL_SLOTS.items() if plan.slot.startswith(word)), None)
    endings = GENERAL_CLASSES.items()
    general = next((general for ending, general in endings if plan.class_name.endswith(ending)), of_slot)
    if general is None or is_known_class(plan):
        return plan
    assumptions.append(
        f"{plan.slot}: {plan.library}.{plan.class_name} is not a class of the libraries: {general} takes its place"
    )
    named = {"tokenizer_class": plan.class_name} if general == "AutoTokenizer" else {}
    return replace(plan, library="transformers", class_name=general, config={**named, **plan.config})


GENERAL_CLASSES = {
    "Tokenizer": "AutoTokenizer",
    "TokenizerFast": "AutoTokenizer",
    "FeatureExtractor": "AutoImageProcessor",
    "ImageProcessor": "AutoImageProcessor",
    "ImageProcessorFast": "AutoImageProcessor",
    "Processor": "AutoProcessor",
}
"""The Auto class of transformers for the ending of a class name, the first match."""


GENERAL_SLOTS = {"tokenizer": "AutoTokenizer", "image_processor": "AutoImageProcessor", "processor": "AutoProcessor"}
"""The same by slot, for classes with other names."""


def names_own_code(config: Any) -> bool:
    """Whether a configuration, or a nested one, asks for code of the model's repository."""
    if isinstance(config, Mapping):
        asks = config.get("auto_map") or config.get("trust_remote_code")
        return bool(asks) or any(names_own_code(part) for part in config.values())
    return isinstance(config, list) and any(map(names_own_code, config))


def stand_in_guard(pipeline: Any, assumptions: list[str]) -> dict[str, Any]:
    """Return a stand-in if the pipeline would create a guard of another package itself; empty for all others."""
    names = vars(sys.modules[pipeline.__module__])
    for name, owner in names.items():
        is_class = isinstance(owner, type) and name.endswith("SafetyChecker")
        if is_class and not issubclass(owner, torch.nn.Module):
            assumptions.append(f"safety_checker: the guard {name} is left out; what it costs is not counted")
            return {"safety_checker": StandInGuard()}
    return {}


class StandInGuard:
    """Accepts every prompt and every video."""

    def __init__(self) -> None:
        self.is_in_use = False

    def check_text_safety(self, prompt: str) -> bool:
        self.is_in_use = False  # for a video, pipelines that check it fetch the guard again
        return True

    def check_video_safety(self, frames: Any) -> Any:
        return frames

    def to(self, device: Any) -> StandInGuard:
        """Do nothing: pipelines move their guard to their device and back to the host."""
        self.is_in_use = not isinstance(device, str)
        return self


def bypass_guard(pipeline: Any) -> None:
    """Pass a single pixel to a stand-in guard, because arrays of all frames would take gigabytes.

    The pipeline converts its frames to arrays, passes them to the guard, and returns its result.
    """
    guard, processor = getattr(pipeline, "safety_checker", None), getattr(pipeline, "video_processor", None)
    if not isinstance(guard, StandInGuard) or processor is None:
        return
    original = processor.postprocess_video
    shapes: list[torch.Size] = []

    def postprocess_video(video: torch.Tensor, output_type: str = "np", **options: Any) -> Any:
        if guard.is_in_use and video.shape[-2:] != POINT:
            batch, channels, *sides = video.shape
            shapes[:] = [torch.Size((batch, *sides, channels))]
            for number in range(batch):
                processor.postprocess(video[number].permute(1, 0, 2, 3), "np", **options)
            return numpy.zeros((1, 1, *POINT, 3), dtype=numpy.float32)
        if guard.is_in_use:
            with torch._C._DisableTorchDispatch():  # the stand-in is not an operation of the pipeline
                video = torch.empty(shapes.pop(), dtype=video.dtype, device="meta").permute(0, 4, 1, 2, 3)
        return original(video, output_type=output_type, **options)

    processor.postprocess_video = postprocess_video


POINT = (1, 1)
