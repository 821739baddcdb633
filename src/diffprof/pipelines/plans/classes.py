"""Find the classes that a plan names: those of diffusers and transformers, and no others."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError, UnsafeModelError, first_line
from diffprof.pipelines.plans.folder import is_pipeline_package, pipeline_packages


class UnknownClassError(RequestError):
    """The installed libraries do not have the class."""


class Kind(Enum):
    """Kinds of components, which are built in different ways."""

    model = "model"
    scheduler = "scheduler"
    guider = "guider"
    tokenizer = "tokenizer"
    processor = "processor"
    """Prepares images, audio or texts: image processors, feature extractors, and processors with a tokenizer."""


def pipeline_class(name: str) -> Any:
    """Return a pipeline class of diffusers by name."""
    import diffusers

    name = name if hasattr(diffusers, name) else name.removeprefix(FLAX_PREFIX)
    owner = _attribute(diffusers, name)
    if is_placeholder(owner):
        raise missing_package_error(name, missing_packages(owner))
    if not (isinstance(owner, type) and issubclass(owner, diffusers.DiffusionPipeline)) or name == "DiffusionPipeline":
        known = [other for other in dir(diffusers) if other.endswith("Pipeline") and other != name]
        hints = difflib.get_close_matches(name, known, n=2)
        hint = f"did you mean {' or '.join(hints)}?" if hints else "diffprof builds no pipeline code of other origin."
        raise UnsafeModelError(f"diffusers has no pipeline {name}; {hint}")
    return owner


REPOSITORY_CLASS_NAMES = {
    "HunyuanVideoTransformer3DModelPacked": "HunyuanVideoFramepackTransformer3DModel",
    "AllegroAutoencoderKL3D": "AutoencoderKLAllegro",
}
"""Models that were published with their own code before diffusers had them under another name."""

FLAX_PREFIX = "Flax"
"""The prefix of class names for JAX."""

OLD_NAMES = {
    "AutoModelForVision2Seq": "AutoModelForImageTextToText",
    "MT5Tokenizer": "T5Tokenizer",
    "MT5TokenizerFast": "T5TokenizerFast",
    "XLMRobertaTokenizerFast": "XLMRobertaTokenizer",
}
"""Classes of transformers that were renamed in version 5."""


def part_class(library: str, class_name: str, config: Mapping[str, Any] | None = None) -> Any:
    """Return a class of diffusers or transformers; refuse anything else before it is imported.

    For a processor whose package is not installed, return the placeholder of its library.
    """
    if re.match(r"(transformers\.models|diffusers\.(models|pipelines|schedulers))\.", library):
        library = library.split(".")[0]  # some models name the module of the class
    class_name = REPOSITORY_CLASS_NAMES.get(class_name, class_name)
    owner = _find(library, class_name, config or {})
    if owner is None and class_name.startswith(FLAX_PREFIX):
        owner = _find(library, class_name.removeprefix(FLAX_PREFIX), config or {})
    if owner is None and not is_trusted_library(library):
        raise UnsafeModelError(
            f"the model asks for {library}.{class_name}; diffprof only builds classes of diffusers and transformers"
        )
    if owner is None:
        raise UnknownClassError(
            f"the installed {library if library == 'transformers' else 'diffusers'} has no class {class_name}; "
            "update it, or check the model's configuration"
        )
    if not (isinstance(owner, type) and owner.__module__.split(".")[0] in ("diffusers", "transformers")):
        raise UnsafeModelError(f"{library}.{class_name} is not a class of diffusers or transformers")
    if is_placeholder(owner) and not _is_processor_name(class_name):
        raise missing_package_error(class_name, missing_packages(owner))
    if kind_of(owner) is Kind.model and not _can_be_built(owner):
        raise UnsafeModelError(f"{class_name} is only the base of other classes; the model must name the one to build")
    return owner


def _can_be_built(owner: Any) -> bool:
    """Whether a model of the class can be built from a configuration."""
    return is_placeholder(owner) or getattr(owner, "config_class", None) is not None or hasattr(owner, "from_config")


def is_trusted_library(library: str) -> bool:
    """Whether classes may be taken from a library that a model names."""
    return library in ("diffusers", "transformers") or is_pipeline_package(library)


def kind_of(owner: Any) -> Kind:
    """Return the kind of component of a class; refuse other classes."""
    import diffusers
    import torch
    import transformers
    from diffusers.guiders import BaseGuidance
    from transformers.feature_extraction_utils import FeatureExtractionMixin
    from transformers.image_processing_base import ImageProcessingMixin

    processors = (
        FeatureExtractionMixin, ImageProcessingMixin, transformers.ProcessorMixin,
        transformers.AutoProcessor, transformers.AutoImageProcessor, transformers.AutoFeatureExtractor,
    )  # fmt: skip
    bases = {
        Kind.model: (torch.nn.Module,),
        Kind.scheduler: (diffusers.SchedulerMixin,),
        Kind.guider: (BaseGuidance,),
        Kind.tokenizer: (transformers.PreTrainedTokenizerBase, transformers.AutoTokenizer),
        Kind.processor: processors,
    }
    for kind, classes in bases.items():
        if issubclass(owner, classes):
            return kind
    if is_placeholder(owner) and _is_processor_name(owner.__name__):
        return Kind.processor
    raise UnsafeModelError(f"{owner.__name__} is not a model, scheduler, tokenizer or processor; it is not a component")


def _is_processor_name(class_name: str) -> bool:
    return class_name.endswith(("Processor", "ProcessorFast", "FeatureExtractor"))


def is_placeholder(owner: Any) -> bool:
    """Whether a library only has a placeholder for the class, because a package is not installed."""
    return type(owner).__name__ == "DummyObject"


def missing_packages(owner: Any) -> list[str]:
    """Return the packages that a placeholder needs and that are not installed."""
    names = [str(getattr(backend, "package_name", backend)) for backend in getattr(owner, "_backends", ())]
    return [PACKAGES.get(name, name) for name in names if not is_installed(MODULES.get(name, name))] or names


MODULES = {"opencv": "cv2", "Pillow": "PIL"}
PACKAGES = {"opencv": "opencv-python", "onnx": "onnxruntime", "k_diffusion": "k-diffusion", "note_seq": "note-seq"}
"""Modules and packages that are not named as in the libraries."""


def is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def missing_package_error(what: str, packages: list[str]) -> RequestError:
    """Return the error that says what to install."""
    several = "packages" if len(packages) > 1 else "package"
    absent = "are not installed" if len(packages) > 1 else "is not installed"
    return RequestError(
        f"{what} needs the {several} {' and '.join(packages)}, which {absent}; "
        f"install with `pip install {' '.join(packages)}`"
    )


def scheduler_class(name: str) -> Any:
    """Find a scheduler by class name or its distinctive part, in any case: ``heun``, ``EulerDiscrete``."""
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
    owner = getattr(diffusers, found)
    if is_placeholder(owner):
        raise missing_package_error(found, missing_packages(owner))
    return owner


def _find(library: str, class_name: str, config: Mapping[str, Any]) -> Any:
    """Find the class in the named library, else in either of the two libraries."""
    import diffusers

    owner = _find_in_transformers(class_name, config) if library == "transformers" else None
    if owner is not None:
        return owner
    if library != "diffusers" and is_pipeline_package(library):
        owner = _find_in_pipeline_package(library, class_name)
    if owner is None:
        owner = _remap(_attribute(diffusers, class_name) or _find_in_pipeline_package("", class_name), config)
    if owner is not None and owner in (getattr(diffusers, "AutoModel", None), diffusers.ModelMixin):
        own_name = config.get("_class_name")
        owner = _attribute(diffusers, own_name) if isinstance(own_name, str) else None
    if owner is None and library not in ("diffusers", "transformers"):
        owner = _find_in_transformers(class_name, config)
    # The modules of the libraries have more than components; a name alone is not enough to build it.
    return owner if is_trusted_library(library) or _is_component(owner) else None


def _is_component(owner: Any) -> bool:
    if not isinstance(owner, type):
        return False
    try:
        kind_of(owner)
    except UnsafeModelError:
        return False
    return True


def _find_in_transformers(class_name: str, config: Mapping[str, Any]) -> Any:
    import transformers

    owner = _attribute(transformers, class_name) or _attribute(transformers, OLD_NAMES.get(class_name, class_name))
    if owner is None and class_name.endswith("FeatureExtractor"):
        owner = _attribute(transformers, class_name.replace("FeatureExtractor", "ImageProcessor"))
    if is_placeholder(owner) and class_name.endswith("ImageProcessorFast"):
        owner = _attribute(transformers, class_name.removesuffix("Fast"))
    if owner is None:
        owner = _find_unexported_transformer(class_name)
    if getattr(owner, "__name__", "").endswith("PreTrainedModel"):
        # The base of all models, or of those of a type: modular pipelines name it as a hint.
        return _model_of_auto_class(transformers.AutoModel._model_mapping, config) or owner
    mapping = getattr(owner, "_model_mapping", None)
    return owner if mapping is None else _model_of_auto_class(mapping, config)


def _model_of_auto_class(mapping: Any, config: Mapping[str, Any]) -> Any:
    """Return the class that an Auto class would choose: the architecture in a configuration, or that of its type."""
    import transformers

    for name in config.get("architectures") or ():
        owner = _attribute(transformers, str(name))
        if owner is not None:
            return owner
    model_type = str(config.get("model_type"))
    # Not `get`, which does not find classes that this mapping imports lazily.
    known = transformers.CONFIG_MAPPING
    config_class = known[model_type] if model_type in known else None  # noqa: SIM401
    found = mapping.get(config_class, None) if config_class is not None else None
    return found[0] if isinstance(found, tuple) else found


def _attribute(module: Any, name: str) -> Any:
    """Return an exported name, or None."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        return None
    return getattr(module, name, None)


def _remap(owner: Any, config: Mapping[str, Any]) -> Any:
    """Return what diffusers builds for an old class name: a DiT's `Transformer2DModel` is `DiTTransformer2DModel`."""
    if owner is None or owner.__name__ != "Transformer2DModel":
        return owner
    from diffusers.models.model_loading_utils import _CLASS_REMAPPING_DICT

    names = _CLASS_REMAPPING_DICT["Transformer2DModel"]
    name = names.get(str(config.get("norm_type", "layer_norm")))
    return part_class("diffusers", name) if name else owner


def _import_class(module: str, class_name: str) -> Any:
    """Import a class from a module that is otherwise not imported: it may need a package that is not installed."""
    try:
        return getattr(importlib.import_module(module), class_name)
    except ImportError as error:
        library = module.partition(".")[0]
        raise RequestError(f"{class_name} of {library} cannot be used here: {first_line(error)}") from error


@cache
def _find_unexported_transformer(class_name: str) -> Any:
    """Find a model that transformers does not export, such as the encoder of an encoder-decoder model."""
    import transformers

    if not re.fullmatch(r"[A-Z][A-Za-z0-9_]*", class_name):
        return None
    top = Path(transformers.__file__).parent
    for file in sorted((top / "models").glob("*/modeling_*.py")):
        if f"\nclass {class_name}(" in file.read_text(encoding="utf-8"):
            module = ".".join(("transformers", *file.relative_to(top).with_suffix("").parts))
            return _import_class(module, class_name)
    return None


@cache
def _find_in_pipeline_package(library: str, class_name: str) -> Any:
    """Find a model that diffusers does not export, in the sources of its pipelines, and import it from there."""
    import diffusers

    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", class_name):
        return None
    top = Path(diffusers.__file__).parent
    for folder in pipeline_packages(library):
        for file in sorted(folder.rglob("*.py")):
            if re.search(rf"^class {class_name}\b", file.read_text(encoding="utf-8"), re.MULTILINE):
                module = ".".join(("diffusers", *file.relative_to(top).with_suffix("").parts))
                return _import_class(module, class_name)
    return None
