"""Infer the architecture of the tensors in a file, as diffusers' single-file loader does, and check that they fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from diffprof.errors import RequestError
from diffprof.pipelines.headers.header import StoredTensor
from diffprof.pipelines.headers.stored_weights import AUXILIARY_TENSORS, StoredWeights

FALLBACK = "v1"
"""The type that diffusers assumes for everything unknown."""


class MisfitError(RequestError):
    """The weights in a file have other names or shapes than those of their model."""

    def __init__(self, message: str, slot: str, names: Collection[str]) -> None:
        super().__init__(message)
        self.slot = slot
        self.names = names
        """Names of the weights in the file, as in the model."""


@dataclass(frozen=True)
class InferredArchitecture:
    """A type of checkpoint, as diffusers names it, and the repository with its configuration."""

    kind: str
    hub_id: str


def infer_architecture(tensors: Mapping[str, StoredTensor]) -> InferredArchitecture | None:
    """Return the type of a checkpoint by the names and shapes of its tensors; None if diffusers does not know it."""
    from diffusers.loaders import single_file_utils as loader

    try:
        kind = loader.infer_diffusers_model_type(virtual_tensors(tensors))
    except Exception:  # noqa: BLE001  its code indexes into shapes without checks
        return None
    if kind == FALLBACK and not any(name.startswith(loader.LDM_UNET_KEY) for name in tensors):
        return None
    place = loader.DIFFUSERS_DEFAULT_PIPELINE_PATHS.get(kind)
    return InferredArchitecture(kind, place["pretrained_model_name_or_path"]) if place else None


CHECKPOINT_PREFIX = "model.diffusion_model."
"""The prefix of ComfyUI for the names of a denoiser in any layout."""


def virtual_tensors(tensors: Mapping[str, StoredTensor]) -> dict[str, torch.Tensor]:
    """Create tensors of these shapes on the meta device, for code that uses only shapes."""
    return {name: torch.empty(tensor.shape, device="meta", dtype=torch.float16) for name, tensor in tensors.items()}


def check_fit(slot: str, model: Any, stored: StoredWeights, must_fit: bool = True) -> list[str]:
    """Refuse weights of other shapes than the model's, if they must fit; return other differences as sentences."""
    expected = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
    weights = sum(weight.numel() for weight in model.state_dict().values())
    parameters = sum(weight.numel() for weight in model.parameters())
    if stored.elements in (weights, parameters):
        return []
    plain = {name: tensor for name, tensor in stored.tensors.items() if not AUXILIARY_TENSORS.search(name)}
    found = _diffusers_layout(model, plain, expected)
    wrong = [name for name, shape in expected.items() if name in found and found[name] != shape]
    missing = [name for name in expected if name not in found]
    if found and not wrong and not missing:
        return [_difference(slot, stored.elements, parameters)]
    if getattr(model, "config_class", None) is not None or not must_fit:
        # Diffusers has no separate converter for text encoders, so only the numbers can be compared.
        return [_difference(slot, stored.elements, parameters)]
    sentence = _mismatch(slot, model, stored.elements, parameters, wrong, missing, found, expected)
    raise MisfitError(sentence, slot, tuple(found))


def _diffusers_layout(
    model: Any, tensors: Mapping[str, StoredTensor], expected: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Return the shapes by diffusers' names: unchanged, or as its converter renames them."""
    from diffusers.loaders.single_file_model import SINGLE_FILE_LOADABLE_CLASSES

    bare = {name.removeprefix(CHECKPOINT_PREFIX): tensor for name, tensor in tensors.items()}
    layouts = [{name: tensor.shape for name, tensor in bare.items()}]
    converter = SINGLE_FILE_LOADABLE_CLASSES.get(type(model).__name__)
    # Some converters know the prefix of a checkpoint, some need it, and some fail with it.
    if converter is not None:
        layouts += [_convert_shapes(converter["checkpoint_mapping_fn"], model, named) for named in (tensors, bare)]
    return max(layouts, key=lambda layout: sum(layout.get(name) == shape for name, shape in expected.items()))


def _convert_shapes(
    convert: Callable[..., Mapping[str, Any]], model: Any, tensors: Mapping[str, StoredTensor]
) -> dict[str, tuple[int, ...]]:
    """Return the shapes by the names of a diffusers converter; empty if it does not know them."""
    try:
        converted = convert(checkpoint=virtual_tensors(tensors), config=dict(model.config))
    except Exception:  # noqa: BLE001  the converters expect the names of their own architecture
        return {}
    # Converters set missing weights to None.
    return {name: tuple(tensor.shape) for name, tensor in converted.items() if tensor is not None}


def _difference(slot: str, elements: int, parameters: int) -> str:
    return f"the file holds {elements:,} elements for {slot}, whose class has {parameters:,} parameters"


def _mismatch(
    slot: str,
    model: torch.nn.Module,
    elements: int,
    parameters: int,
    wrong: list[str],
    missing: list[str],
    found: Mapping[str, tuple[int, ...]],
    expected: Mapping[str, tuple[int, ...]],
) -> str:
    if wrong:
        name = wrong[0]
        shapes = ["x".join(map(str, shape[name])) for shape in (found, expected)]
        reason = f"{name} is {shapes[0]} in the file and {shapes[1]} in the configuration"
    else:
        reason = f"it lacks {missing[0]}" if missing else "none of its names are known"
    return (
        f"the weights of {slot} do not fit {type(model).__name__} as it is configured ({reason}; "
        f"{elements:,} elements where it has {parameters:,}); give the right model with --config"
    )
