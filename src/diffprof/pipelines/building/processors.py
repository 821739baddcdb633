"""Processors, which prepare images and texts for an encoder: built from existing files, or stand-ins."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import transformers

from diffprof.errors import RequestError, error_summary
from diffprof.pipelines.building.tokenizer_families import encoder_of, family_of
from diffprof.pipelines.building.tokenizers import StandInTokenizer, has_vocabulary, own_template, tokenizer_of
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.classes import is_placeholder, missing_package_error, missing_packages, part_class
from diffprof.pipelines.plans.fitting import is_known_class
from diffprof.pipelines.plans.folder import read_json


def processor_of(blueprint: Blueprint, plan: PartPlan, owner: Any, assumptions: list[str]) -> Any:
    """Build the processor of a slot; add everything that is not from its files to `assumptions`."""
    owner = _class_behind(blueprint, plan, owner)
    try:
        if is_placeholder(owner) or issubclass(owner, transformers.ProcessorMixin):
            return _composite(blueprint, plan, owner, assumptions)
        return _image_processor(blueprint, plan, owner, assumptions)
    except (TypeError, ValueError, KeyError, AttributeError, ImportError) as error:
        reason = error_summary(error)
        raise RequestError(
            f"{plan.class_name} cannot be built from the configuration of {plan.slot} ({reason})"
        ) from error


def _class_behind(blueprint: Blueprint, plan: PartPlan, owner: Any) -> Any:
    """Return the class of an Auto class: named in the files, else the usual one for the encoder's model type."""
    if owner not in (transformers.AutoProcessor, transformers.AutoImageProcessor, transformers.AutoFeatureExtractor):
        return owner
    key = {"AutoProcessor": "processor_class", "AutoImageProcessor": "image_processor_type"}.get(
        owner.__name__, "feature_extractor_type"
    )
    named = [_file(plan, name).get(key) for name in ("processor_config.json", "preprocessor_config.json")]
    named += [plan.config.get(key), _file(plan, "tokenizer_config.json").get(key)]
    known = [
        name for name in named if isinstance(name, str) and is_known_class(replace(plan, class_name=name, config={}))
    ]
    name = known[0] if known else _usual_name(blueprint, plan, owner)
    if name is None:
        raise RequestError(f"the class of {plan.slot} ({plan.class_name}) is not known; add its configuration files")
    return part_class("transformers", name)


def _usual_name(blueprint: Blueprint, plan: PartPlan, owner: Any) -> str | None:
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    encoder = encoder_of(blueprint, plan)
    model_type = ""
    if encoder is not None:
        config_class = getattr(part_class(encoder.library, encoder.class_name, encoder.config), "config_class", None)
        model_type = str(encoder.config.get("model_type") or getattr(config_class, "model_type", ""))
    whole = re.sub(r"_(text|vision)(_model)?$", "", model_type)  # the model that an encoder is a part of
    name = PROCESSOR_MAPPING_NAMES.get(model_type) or PROCESSOR_MAPPING_NAMES.get(whole)
    if owner is not transformers.AutoProcessor:
        return "CLIPImageProcessor"
    return name if isinstance(name, str) else None


def _image_processor(blueprint: Blueprint, plan: PartPlan, owner: Any, assumptions: list[str]) -> Any:
    """Build an image processor or feature extractor; without its file, for the size of the image encoder."""
    if not plan.is_missing:
        return owner.from_dict(dict(plan.config))
    assumptions.append(f"{plan.slot} has no configuration: the defaults of {plan.class_name} are assumed")
    return _with_encoder_size(blueprint, owner())


def _with_encoder_size(blueprint: Blueprint, processor: Any) -> Any:
    side = _image_size(blueprint)
    if side is not None:
        for name in ("size", "crop_size"):
            size = getattr(processor, name, None)
            if size is not None and len(dict(size)) in (1, 2):
                setattr(processor, name, {key: side for key, value in dict(size).items() if value is not None})
    return processor


def _image_size(blueprint: Blueprint) -> int | None:
    """Return the side of the images of the image encoder, or else of a text encoder that also reads images."""
    for slot in ("image_encoder", "text_encoder"):
        encoder = blueprint.parts.get(slot)
        config: Mapping[str, Any] = encoder.config if encoder is not None else {}
        nested = config.get("vision_config")
        side = config.get("image_size") or (nested.get("image_size") if isinstance(nested, Mapping) else None)
        if isinstance(side, int):
            return side
    return None


def _composite(blueprint: Blueprint, plan: PartPlan, owner: Any, assumptions: list[str]) -> Any:
    """Build a processor that contains others; without video processors, because no counted pipeline uses them."""
    tokenizer = _tokenizer(blueprint, plan, assumptions)
    parts = {"tokenizer": tokenizer, "image_processor": _inner_image_processor(plan, owner, assumptions)}
    template = own_template(plan) or _file(plan, "tokenizer_config.json").get("chat_template")
    template = template or getattr(tokenizer, "chat_template", None) or family_of(blueprint, plan).chat_template
    if is_placeholder(owner):
        assumptions.append(
            f"{plan.slot}: {plan.class_name} needs {' and '.join(missing_packages(owner))}: "
            "a processor of texts alone takes its place"
        )
        return StandInProcessor(**parts, chat_template=template)
    kind = _without_class_checks(owner)
    known = inspect.signature(owner.__init__).parameters
    settings = {name: value for name, value in _file(plan, "processor_config.json").items() if name in known}
    settings |= {name: parts.get(name) for name in kind.get_attributes()}
    if "chat_template" in known:
        settings["chat_template"] = template
    processor = _create_processor(kind, settings)
    if isinstance(tokenizer, StandInTokenizer):
        tokens = _numbers_of_tokens(blueprint, plan, processor)
        if tokens:
            settings["tokenizer"] = tokenizer.with_special_tokens(tokens)
            processor = _create_processor(kind, settings)
    return processor


def _create_processor(kind: Any, settings: Mapping[str, Any]) -> Any:
    try:
        return kind(**settings)
    except AttributeError:
        _name_special_tokens(settings["tokenizer"])
        return kind(**settings)


def _numbers_of_tokens(blueprint: Blueprint, plan: PartPlan, processor: Any) -> dict[str, int]:
    """Return token ids for images, if a stand-in tokenizer has other ids or none.

    The encoder finds images by the ids in its configuration.
    """
    encoder = encoder_of(blueprint, plan)
    config: Mapping[str, Any] = encoder.config if encoder is not None else {}
    known: dict[str, int] = processor.tokenizer.get_vocab()
    taken = {*known.values()}
    numbers: dict[str, int] = {}
    # First the tokens that the stand-in does not know: one of several tokens of an image may have the id.
    for is_known, owner, name in itertools.product((False, True), (processor, processor.tokenizer), SPECIAL_TOKENS):
        token = getattr(owner, name, None)
        if not isinstance(token, str) or token in numbers or (token in known) is not is_known:
            continue
        given = config.get(f"{name}_id", config.get(f"{name}_index"))
        is_free = isinstance(given, int) and given not in taken
        if is_free or not is_known:
            unused = next(number for number in itertools.count(FIRST_UNUSED) if number not in taken)
            numbers[token] = given if is_free else unused
            taken.add(numbers[token])
    return numbers


FIRST_UNUSED = 4
"""Lower ids are those of tokens that start, end and pad texts."""


def _name_special_tokens(tokenizer: Any) -> None:
    """Name the tokens of images, which some processors read from their tokenizer and a stand-in does not have."""
    for name, token in SPECIAL_TOKENS.items():
        if not hasattr(tokenizer, name):
            setattr(tokenizer, name, token)
            setattr(tokenizer, f"{name}_id", tokenizer.convert_tokens_to_ids(token))


SPECIAL_TOKENS = {
    "image_token": "<|image|>", "video_token": "<|video|>", "audio_token": "<|audio|>", "boi_token": "<start_of_image>",
    "eoi_token": "<end_of_image>", "grid_bos_token": "<sop>", "grid_eos_token": "<eop>",
}  # fmt: skip


def _without_class_checks(owner: Any) -> Any:
    """Return the class without checks of its parts, so that it takes stand-ins, and None for unused parts."""
    return type(
        owner.__name__,
        (owner,),
        {"check_argument_for_proper_class": lambda self, name, value: None, "__module__": owner.__module__},
    )


def _tokenizer(blueprint: Blueprint, plan: PartPlan, assumptions: list[str]) -> Any:
    """Build the inner tokenizer: from the processor's own files, else from those of the tokenizer next to it."""
    inside = replace(plan, config=_file(plan, "tokenizer_config.json"))
    beside = blueprint.parts.get("tokenizer")
    if not has_vocabulary(inside) and beside is not None and beside.slot != plan.slot and has_vocabulary(beside):
        inside = replace(beside, slot=plan.slot)
    return tokenizer_of(blueprint, inside, assumptions)


def _inner_image_processor(plan: PartPlan, owner: Any, assumptions: list[str]) -> Any:
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES

    if not is_placeholder(owner) and "image_processor" not in owner.get_attributes():
        return None
    nested = _file(plan, "processor_config.json").get("image_processor")
    config = _file(plan, "preprocessor_config.json") or (nested if isinstance(nested, dict) else {})
    if plan.only_differences:
        config = dict(plan.config)
    name = config.get("image_processor_type") or config.get("feature_extractor_type")
    if not isinstance(name, str):
        model_type = owner.__module__.split(".")[2]
        names = IMAGE_PROCESSOR_MAPPING_NAMES.get(model_type) or {}
        name = names.get("pil") or names.get("torchvision")
    if name is None:
        return None
    kind = part_class("transformers", name)
    if not config:
        assumptions.append(f"{plan.slot} has no image processor: the defaults of {kind.__name__} are assumed")
    return None if is_placeholder(kind) else kind.from_dict(dict(config))


def _file(plan: PartPlan, name: str) -> dict[str, Any]:
    path = plan.folder / name if plan.folder is not None else None
    return read_json(path) if path is not None and path.is_file() else {}


class StandInProcessor(transformers.ProcessorMixin):  # type: ignore[misc]
    """Passes texts to a tokenizer, for a processor whose package is not installed."""

    def __init__(self, image_processor: Any = None, tokenizer: Any = None, chat_template: str | None = None) -> None:
        self.image_processor = image_processor
        self.tokenizer = tokenizer
        self.chat_template = chat_template

    def __call__(self, images: Any = None, text: Any = None, **options: Any) -> Any:
        """Tokenize a text, even if it is the only argument; images would need the real processor."""
        if text is None and (isinstance(images, str) or (isinstance(images, list) and isinstance(images[0], str))):
            images, text = None, images
        if images is not None:
            raise missing_package_error("the processor of its images", ["torchvision"])
        return self.tokenizer(text, **options)
