"""Finds the classes that a plan names: those of diffusers and transformers, and no others."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.folder import is_pipeline_package, pipeline_packages

OLD_NAMES = {"CLIPFeatureExtractor": "CLIPImageProcessor", "SiglipFeatureExtractor": "SiglipImageProcessor"}
"""Classes that the libraries have renamed; published folders still use the old names."""


def pipeline_class(name: str) -> Any:
    """A pipeline class of diffusers by its name."""
    import diffusers

    owner = _attribute(diffusers, name)
    if not (isinstance(owner, type) and issubclass(owner, diffusers.DiffusionPipeline)) or name == "DiffusionPipeline":
        known = [other for other in dir(diffusers) if other.endswith("Pipeline")]
        hints = difflib.get_close_matches(name, known, n=2)
        hint = f"did you mean {' or '.join(hints)}?" if hints else "diffprof builds no pipeline code of other origin."
        raise UnsafeModelError(f"diffusers has no pipeline {name}; {hint}")
    return owner


def part_class(library: str, class_name: str, config: Mapping[str, Any] | None = None) -> Any:
    """A class of diffusers or transformers; anything else is refused before it is imported."""
    import diffusers
    import transformers

    class_name = OLD_NAMES.get(class_name, class_name)
    if library == "transformers":
        owner = _attribute(transformers, class_name)
    elif library == "diffusers":
        owner = _attribute(diffusers, class_name) or _in_pipeline_package("", class_name)
        owner = _remap(owner, config or {})
    elif is_pipeline_package(library):
        owner = _in_pipeline_package(library, class_name)
    else:
        raise UnsafeModelError(
            f"the model asks for {library}.{class_name}; diffprof only builds classes of diffusers and transformers"
        )
    if owner is None:
        raise RequestError(
            f"the installed {library if library == 'transformers' else 'diffusers'} has no class {class_name}; "
            "update it, or check the model's configuration"
        )
    if not (isinstance(owner, type) and owner.__module__.split(".")[0] in ("diffusers", "transformers")):
        raise UnsafeModelError(f"{library}.{class_name} is not a class of diffusers or transformers")
    if not issubclass(owner, _component_classes()):
        raise UnsafeModelError(f"{class_name} is not a model, scheduler, tokenizer or processor; it is no component")
    return owner


def _component_classes() -> tuple[type, ...]:
    import diffusers
    import torch
    import transformers
    from transformers.feature_extraction_utils import FeatureExtractionMixin
    from transformers.image_processing_base import ImageProcessingMixin

    mixins = (FeatureExtractionMixin, ImageProcessingMixin, transformers.ProcessorMixin)
    return torch.nn.Module, diffusers.SchedulerMixin, transformers.PreTrainedTokenizerBase, *mixins


def scheduler_class(name: str) -> Any:
    """A scheduler by its class name or the distinctive part of it, in any case: ``heun``, ``EulerDiscrete``."""
    import diffusers

    known = [other for other in dir(diffusers) if other.endswith("Scheduler") and not other.startswith("Flax")]
    short = {
        re.sub("(Discrete|Multistep)?Scheduler$", "", other).lower(): other for other in sorted(known, reverse=True)
    }
    by_name = {other.lower(): other for other in known} | short
    plain_name = re.sub(r"[^a-z0-9]", "", name.lower())
    found = by_name.get(plain_name) or by_name.get(plain_name + "scheduler")
    if found is None:
        near = dict.fromkeys(by_name[hint] for hint in difflib.get_close_matches(plain_name, by_name, n=3))
        hint = (
            f"did you mean {' or '.join(near)}?" if near else "for example euler, heun, ddim, dpmsolver or unipc work."
        )
        raise RequestError(f"unknown scheduler {name!r}; {hint}")
    return getattr(diffusers, found)


def _attribute(module: Any, name: str) -> Any:
    """An exported name; a missing optional dependency counts as absent."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        return None
    return getattr(module, name, None)


def _remap(owner: Any, config: Mapping[str, Any]) -> Any:
    """What diffusers itself builds for an old class name: a DiT's `Transformer2DModel` is `DiTTransformer2DModel`."""
    if owner is None or owner.__name__ != "Transformer2DModel":
        return owner
    from diffusers.models.model_loading_utils import _CLASS_REMAPPING_DICT

    names = _CLASS_REMAPPING_DICT["Transformer2DModel"]
    name = names.get(str(config.get("norm_type", "layer_norm")))
    return part_class("diffusers", name) if name else owner


def _in_pipeline_package(library: str, class_name: str) -> Any:
    """A model that diffusers does not export: found in the sources of its pipelines, then imported from there."""
    import diffusers

    top = Path(diffusers.__file__).parent
    for folder in pipeline_packages(library):
        for file in sorted(folder.rglob("*.py")):
            if re.search(rf"^class {class_name}\b", file.read_text(encoding="utf-8"), re.MULTILINE):
                module = ".".join(("diffusers", *file.relative_to(top).with_suffix("").parts))
                return getattr(importlib.import_module(module), class_name)
    return None
