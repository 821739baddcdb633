"""Build a pipeline from its plan with virtual weights: shapes and dtypes on the meta device, no initialisation."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from diffprof.errors import DiffprofError, RequestError, error_summary
from diffprof.pipelines.building.modular import build_modular, modular_class, register_parts
from diffprof.pipelines.building.processors import processor_of
from diffprof.pipelines.building.tokenizers import tokenizer_of
from diffprof.pipelines.building.transformers_configs import transformers_config
from diffprof.pipelines.building.usual_schedulers import usual_scheduler
from diffprof.pipelines.failures import CONFIG_VALUE_ERRORS, is_own_mistake, missing_optional_packages
from diffprof.pipelines.packing.published_packing import pack_as_published, packing_sentence
from diffprof.pipelines.patching import DRY_RUN_LOCK, Patches
from diffprof.pipelines.plans.assumed_parts import with_assumed_parts
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.classes import Kind, is_trusted_library, kind_of, missing_package_error, part_class
from diffprof.pipelines.plans.fitting import (
    IGNORED_KEYS,
    bypass_guard,
    fitting_pipeline,
    is_guard,
    is_known_class,
    is_optional,
    names_own_code,
    single_plans,
    stand_in_guard,
    unknown_keys_sentence,
    with_current_class,
)

MAX_MODULES = 30_000
"""A config with more modules is refused. The largest model of the catalogue, the UNet of kandinsky-3, has 2,751."""

MakeModel = Callable[[Any, PartPlan, Mapping[str, Any], torch.dtype], torch.nn.Module]
"""Makes a model of a class from its part of the plan and its configuration, in a dtype."""


def build(blueprint: Blueprint, dtype: torch.dtype, make_model: MakeModel | None = None) -> tuple[Any, tuple[str, ...]]:
    """Build the pipeline, with virtual weights unless `make_model` makes others; return it with the assumptions."""
    assumptions = list(blueprint.assumptions)
    make = make_model or build_virtual_model
    modular = modular_class(blueprint.pipeline)
    if modular is not None:
        blueprint = _with_assumptions(blueprint, None, assumptions)
        with DRY_RUN_LOCK:
            pipeline = build_modular(
                modular, blueprint, lambda plan: _part(blueprint, plan, None, dtype, assumptions, make), assumptions
            )
        return pipeline, tuple(assumptions)
    owner = fitting_pipeline(blueprint, assumptions)
    blueprint = _with_assumptions(blueprint, owner, assumptions)
    signature = inspect.signature(owner.__init__).parameters
    parts = _build_parts(blueprint, owner, signature, dtype, assumptions, make)
    settings = {name: value for name, value in blueprint.pipeline_config.items() if name in signature}
    _fill_empty_slots(owner, signature, parts, settings, assumptions)
    assumptions += [
        f"{slot}: the pipeline copies its weights into the denoiser and keeps both, so they are held twice"
        for slot, part in parts.items()
        if type(part).__name__ in MODELS_TO_MERGE
    ]
    is_virtual = make_model is None
    pipeline = _assemble(owner, {**parts, **settings}, dtype, is_virtual)
    if is_virtual:
        bypass_guard(pipeline)
    return pipeline, tuple(assumptions)


def _build_parts(
    blueprint: Blueprint,
    owner: Any,
    signature: Collection[str],
    dtype: torch.dtype,
    assumptions: list[str],
    make: MakeModel,
) -> dict[str, Any]:
    """Build the components of the plan for which the pipeline has slots."""
    parts: dict[str, Any] = {}
    with DRY_RUN_LOCK:
        for slot, plan in blueprint.parts.items():
            if slot in signature:
                several = single_plans(plan)
                made = [_part(blueprint, one, owner, dtype, assumptions, make) for one in several or (plan,)]
                parts[slot] = made if several else made[0]
            else:
                assumptions.append(f"{slot} ({plan.class_name}) is not a component of {owner.__name__}: it is left out")
    return parts


def _assemble(owner: Any, parts: dict[str, Any], dtype: torch.dtype, is_virtual: bool) -> Any:
    """Create the pipeline from these parts; if its own code fails, say what to install, or what does not fit."""
    try:
        return _create_pipeline(owner, parts, dtype, is_virtual)
    except Exception as error:
        if _is_own_mistake(error):
            raise
        packages = missing_optional_packages(error)
        if packages:
            raise missing_package_error(owner.__name__, packages) from error
        reason = error_summary(error)
        raise RequestError(f"{owner.__name__} cannot be assembled from these components: {reason}") from error


def _with_assumptions(blueprint: Blueprint, owner: Any, assumptions: list[str]) -> Blueprint:
    """Return the plan with assumed configurations for models without one, if requested."""
    if not blueprint.assume_defaults:
        return blueprint
    dispensable = [slot for slot, plan in blueprint.parts.items() if _is_dispensable(owner, plan)]
    return with_assumed_parts(blueprint, frozenset(dispensable), assumptions)


def _is_dispensable(pipeline: Any, plan: PartPlan) -> bool:
    return pipeline is not None and (is_guard(plan) or is_optional(pipeline, plan.slot))


def _fill_empty_slots(
    owner: Any,
    signature: Mapping[str, inspect.Parameter],
    parts: dict[str, Any],
    settings: dict[str, Any],
    assumptions: list[str],
) -> None:
    """Pass None for missing components to the constructor, and a stand-in for a guard."""
    for name, parameter in signature.items():
        if name != "self" and name not in parts and name not in settings and parameter.default is parameter.empty:
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            parts[name] = None
    if "safety_checker" in signature and parts.get("safety_checker") is None:
        parts |= stand_in_guard(owner, assumptions)
    if parts.get("safety_checker", ...) is None and "requires_safety_checker" in signature:
        settings["requires_safety_checker"] = False


def build_blocks(blocks: Any, blueprint: Blueprint, dtype: torch.dtype) -> tuple[Any, tuple[str, ...]]:
    """Build the pipeline of live blocks, with the components of a plan on virtual weights."""
    assumptions = list(blueprint.assumptions)
    with DRY_RUN_LOCK:
        pipeline = blocks.init_pipeline()
        register_parts(
            pipeline, blueprint, lambda plan: _part(blueprint, plan, None, dtype, assumptions, build_virtual_model)
        )
    return pipeline, tuple(assumptions)


def _create_pipeline(owner: Any, parts: Mapping[str, Any], dtype: torch.dtype, is_virtual: bool) -> Any:
    """Create the pipeline; models that it builds from others (AnimateDiff: UNet and adapter) must be virtual too."""
    # Decided beforehand, because trying would build a whole real model before it fails.
    makes_model = any(type(part).__name__ in MODELS_TO_MERGE for part in parts.values())
    try:
        if not (is_virtual and makes_model):
            return owner(**parts)
    except RuntimeError as error:
        if not is_virtual or "meta tensor" not in str(error):
            raise
    with Patches() as patches, virtual_weights(patches, dtype):
        pipeline = owner(**parts)
    for component in pipeline.components.values():
        for module in component.modules() if isinstance(component, torch.nn.Module) else ():
            module.training = False
            _make_virtual(module)
    return pipeline


MODELS_TO_MERGE = ("MotionAdapter", "ControlNetXSAdapter")
"""Components that the constructor of a pipeline merges with the UNet into a new model."""


def build_component(blueprint: Blueprint, slot: str, dtype: torch.dtype) -> tuple[Any, tuple[str, ...]]:
    """Build one model of the plan on virtual weights; return it with the assumptions made."""
    assumptions = list(blueprint.assumptions)
    with DRY_RUN_LOCK:
        part = _part(blueprint, blueprint.parts[slot], None, dtype, assumptions, build_virtual_model)
    if not isinstance(part, torch.nn.Module):
        raise RequestError(f"{slot} is a {type(part).__name__}, which computes nothing by itself; name a model")
    return part, tuple(assumptions)


def _is_own_mistake(error: Exception) -> bool:
    """Whether a line of diffprof raised the error, rather than the library that it called."""
    has_callee = error.__traceback__ is not None and error.__traceback__.tb_next is not None
    return has_callee and is_own_mistake(error, CONFIG_VALUE_ERRORS)


def _part(
    blueprint: Blueprint,
    plan: PartPlan,
    pipeline: Any,
    dtype: torch.dtype,
    assumptions: list[str],
    make_model: MakeModel,
) -> Any:
    """Build a component, or leave it out; add any deviation from the model's files to `assumptions`.

    Without a `pipeline`, which could make it optional, it is always built.
    """
    is_dispensable = _is_dispensable(pipeline, plan)
    if is_guard(plan) and plan.is_missing and is_known_class(plan):
        return None
    if is_dispensable and not is_known_class(plan):
        assumptions.append(
            f"{plan.slot}: {plan.library}.{plan.class_name} is not a class of the libraries: it is left out"
        )
        return None
    plan = with_current_class(blueprint.pipeline, plan, assumptions)
    owner = part_class(plan.library, plan.class_name, plan.config)
    _note_own_code(plan, owner, assumptions)
    kind = kind_of(owner)
    if kind is Kind.tokenizer:
        return tokenizer_of(blueprint, plan, assumptions)
    if kind is Kind.processor:
        return processor_of(blueprint, plan, owner, assumptions)
    if plan.is_missing and not _may_assume_defaults(blueprint, plan, kind, is_dispensable, assumptions):
        return None
    config = _configuration(blueprint, plan, kind, assumptions)
    assumptions += filter(None, [unknown_keys_sentence(plan, owner) if kind is Kind.model else None])
    with explain_config_errors(plan):
        return make_model(owner, plan, config, dtype) if kind is Kind.model else owner.from_config(config)


@contextlib.contextmanager
def explain_config_errors(plan: PartPlan) -> Iterator[None]:
    """Convert errors of a library about a configuration into a sentence about the model."""
    try:
        yield
    except DiffprofError:
        raise
    except Exception as error:
        if _is_own_mistake(error):
            raise
        sentence = f"{plan.class_name} cannot be built from the configuration of {plan.slot}"
        raise RequestError(f"{sentence} ({type(error).__name__}: {error})") from error


def _configuration(blueprint: Blueprint, plan: PartPlan, kind: Kind, assumptions: list[str]) -> Mapping[str, Any]:
    assumptions += filter(None, [packing_sentence(plan.slot, plan.config)])
    if plan.is_missing and kind is Kind.scheduler:
        return usual_scheduler(blueprint, plan)
    return {name: value for name, value in plan.config.items() if name not in IGNORED_KEYS}


def _may_assume_defaults(
    blueprint: Blueprint, plan: PartPlan, kind: Kind, is_dispensable: bool, assumptions: list[str]
) -> bool:
    """Whether to build a component without a configuration from its class's defaults; False to leave it out."""
    if kind is Kind.model and is_dispensable:
        assumptions.append(f"{plan.slot} ({plan.class_name}) has no configuration and is optional: it is left out")
        return False
    if kind is Kind.model and not blueprint.assume_defaults:
        raise RequestError(
            f"{plan.folder} has no config file, but model_index.json lists {plan.slot} ({plan.class_name}); "
            "add its config.json (weights are not needed), or count with the class's own defaults (--assume-defaults)"
        )
    values = usual_scheduler(blueprint, plan) if kind is Kind.scheduler else {}
    but = f", with {', '.join(f'{name} {value}' for name, value in values.items())}" if values else ""
    assumptions.append(f"{plan.slot} has no configuration: the defaults of {plan.class_name} are assumed{but}")
    return True


def _note_own_code(plan: PartPlan, owner: Any, assumptions: list[str]) -> None:
    """Note if a model names code of its repository for a class of the libraries; the libraries' class is used."""
    library = owner.__module__.split(".")[0]
    if not is_trusted_library(plan.library):
        assumptions.append(
            f"{plan.slot}: {plan.library}.{plan.class_name} is taken as {library}' class of that name; "
            "no code of the model's repository is run"
        )
    elif names_own_code(plan.config):
        assumptions.append(
            f"{plan.slot}: its configuration names code of the model's repository, which is not run; "
            f"{library}' own {owner.__name__} is taken"
        )


def build_virtual_model(owner: Any, plan: PartPlan, config: Mapping[str, Any], dtype: torch.dtype) -> torch.nn.Module:
    """Create a model of the class on virtual weights: shapes and dtypes without data."""
    with Patches() as patches, virtual_weights(patches, dtype):
        model = construct(owner, plan, config)
    for module in model.modules():
        module.training = False
        _make_virtual(module)
    if dtype in (torch.float16, torch.bfloat16):
        keep_in_float32(model, dtype)
    pack_as_published(plan.slot, model, plan.config)
    return model


def construct(owner: Any, plan: PartPlan, config: Mapping[str, Any]) -> torch.nn.Module:
    """Create a model of the class as its library does before it loads weights."""
    if hasattr(owner, "config_class") and owner.config_class is not None:
        model = owner(transformers_config(owner, plan, config))
        model.tie_weights()
    else:
        # Diffusers uses the configuration to choose the current class, and early ones lack the key.
        model = owner.from_config({**EARLY_VALUES.get(owner.__name__, {}), **config})
    return model


EARLY_VALUES = {"Transformer2DModel": {"norm_type": "layer_norm"}}


def _make_virtual(module: torch.nn.Module) -> None:
    """Move parameters to the meta device that a model has created in ways a default device does not affect."""
    for name, parameter in module._parameters.items():
        if parameter is not None and not parameter.is_meta:
            virtual = torch.empty_like(parameter, device="meta")
            module._parameters[name] = torch.nn.Parameter(virtual, requires_grad=parameter.requires_grad)


def keep_in_float32(model: torch.nn.Module, dtype: torch.dtype) -> None:
    """Keep the layers in float32 that the libraries keep in it when they load a model in half precision."""
    kept = list(getattr(model, "_keep_in_fp32_modules_strict", None) or ())
    if dtype == torch.float16 or not hasattr(model, "config_class") or model.config_class is None:
        kept += list(getattr(model, "_keep_in_fp32_modules", None) or ())
    if not kept:
        return
    for path, module in model.named_modules():
        for name, parameter in module._parameters.items():
            full = f"{path}.{name}".split(".")
            if parameter is not None and parameter.dtype == dtype and any(part in full for part in kept):
                virtual = torch.empty_like(parameter, dtype=torch.float32)
                module._parameters[name] = torch.nn.Parameter(virtual, requires_grad=parameter.requires_grad)


@contextlib.contextmanager
def virtual_weights(patches: Patches, dtype: torch.dtype) -> Iterator[None]:
    """Create new tensors in the block on the meta device in `dtype`, without initialisation."""
    skip_initialisation(patches)
    patches.function(torch.nn.Module, "__init__", _limit_modules)
    with _VirtualFactories(dtype):
        yield


def skip_initialisation(patches: Patches) -> None:
    """Make the initialization of new weights do nothing."""
    import transformers
    from torch.nn import init

    def skip(original: Any) -> Any:
        return lambda tensor, *args, **kwargs: tensor

    for name in [name for name in vars(init) if name.endswith("_") and not name.startswith("_")]:
        patches.function(init, name, skip)
    for layer in (torch.nn.Linear, torch.nn.Embedding, torch.nn.LayerNorm, torch.nn.GroupNorm):
        patches.function(layer, "reset_parameters", lambda original: lambda module: None)
    # Kolors' ChatGLM creates its layers on the meta device itself, and then allocates memory for them.
    patches.function(torch.nn.Module, "to_empty", lambda original: lambda module, **options: module)
    patches.function(torch.nn.modules.conv._ConvNd, "reset_parameters", lambda original: lambda module: None)
    patches.function(transformers.PreTrainedModel, "init_weights", lambda original: lambda module: None)


def _limit_modules(original: Any) -> Any:
    """Limit the number of modules: a configuration may contain any number of layers, and each is an object."""
    made = itertools.count(1)

    def init(module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        if next(made) > MAX_MODULES:
            raise RequestError(f"the model has more than {MAX_MODULES:,} modules; check the layer counts of its config")
        original(module, *args, **kwargs)

    return init


class _VirtualFactories(TorchFunctionMode):
    """Gives factories a device and a dtype if the caller named none; only in this thread."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in CONSTRUCTORS:
            if kwargs.get("device") is None:
                kwargs["device"] = torch.device("meta")
            if func in FLOATING and kwargs.get("dtype") is None:
                kwargs["dtype"] = self.dtype
        return func(*args, **kwargs)


CONSTRUCTORS = frozenset(_device_constructors())
FLOATING = frozenset({torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.empty_strided, torch.eye})
