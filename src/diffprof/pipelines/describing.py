"""Describe the plan of a pipeline as a catalogue entry, which needs none of its files."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from diffprof.catalogue import Entry, Part, TokenizerFacts
from diffprof.catalogue.names import Place, resolve
from diffprof.errors import RequestError
from diffprof.pipelines.building.build import build, construct, virtual_weights
from diffprof.pipelines.building.tokenizers import StandInTokenizer
from diffprof.pipelines.components import components_of, persistent_buffers
from diffprof.pipelines.opening import torch_dtype
from diffprof.pipelines.patching import Patches
from diffprof.pipelines.plans.blueprint import STAND_IN, Blueprint, PartPlan
from diffprof.pipelines.plans.classes import part_class
from diffprof.pipelines.plans.fitting import IGNORED_KEYS
from diffprof.pipelines.plans.source import blueprint_of
from diffprof.pipelines.quiet import quiet_libraries

NOT_CONFIGURATION = ("architectures", "transformers_version", "dtype", "auto_map", *IGNORED_KEYS)
NO_LIMIT = 10**15
MAX_SPECIAL_TOKENS = 64
ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "cls_token", "sep_token", "mask_token")


def describe(blueprint: Blueprint, name: str, title: str, source: str, **facts: Any) -> Entry:
    """Return the entry for a plan; `facts` are the keys of an entry that plans do not have."""
    with quiet_libraries():
        pipeline, _ = build(blueprint, torch_dtype(blueprint.dtype))
        models = components_of(pipeline)
        parts = {
            slot: _part(plan, vars(pipeline).get(slot), models.get(slot), source)
            for slot, plan in blueprint.parts.items()
            if getattr(pipeline, slot, None) is not None
        }
    return Entry(
        name=name,
        title=title,
        media=facts.pop("media", None) or _media(blueprint.pipeline, parts),
        hub_id=facts.pop("hub_id", None),
        pipeline=blueprint.pipeline,
        dtype=blueprint.dtype,
        source=source,
        pipeline_config={key: value for key, value in blueprint.pipeline_config.items() if value is not None},
        call={name: value for name, value in blueprint.call.items() if value is not STAND_IN},
        components=parts,
        **facts,
    )


def _media(pipeline: str, parts: Mapping[str, Part]) -> str:
    classes = " ".join((pipeline, *(part.class_name for part in parts.values())))
    if "Audio" in pipeline or "Oobleck" in classes:
        return "audio"
    return "video" if any(word in classes for word in ("Video", "3DModel", "Motion", "SpatioTemporal")) else "image"


def _part(plan: PartPlan, built: Any, model: torch.nn.Module | None, source: str) -> Part:
    tokenizer: TokenizerFacts | None
    if hasattr(built, "added_tokens_encoder"):
        library = "transformers" if plan.library == "transformers" else "diffusers"
        config, tokenizer = {}, facts_of_tokenizer(built)
        owner_name = plan.class_name
    else:
        owner = part_class(plan.library, plan.class_name, plan.config)
        # Only if diffusers itself builds another class.
        owner_name = owner.__name__ if plan.library == "diffusers" else plan.class_name
        library = owner.__module__.partition(".")[0]
        inner = getattr(built, "tokenizer", None)
        if model is not None:
            config = _differences_of_model(owner, plan, model)
        elif inner is not None:
            config = _differences_of_image_processor(getattr(built, "image_processor", None))
        else:
            config = differences(owner, plan)
        tokenizer = facts_of_tokenizer(inner) if hasattr(inner, "added_tokens_encoder") else None
    return Part(
        slot=plan.slot,
        class_name=owner_name,
        library=library,
        config=config,
        parameters=sum(weight.numel() for weight in model.parameters()) if model is not None else None,
        buffers=sum(buffer.numel() for buffer in persistent_buffers(model)) if model is not None else 0,
        source=f"{source}, {plan.slot}/",
        tokenizer=tokenizer,
    )


def _differences_of_image_processor(processor: Any) -> dict[str, Any]:
    """Return the differences of the image processor inside a processor of texts and images."""
    if processor is None:
        return {}
    kind = type(processor)
    different = _different_from(processor.to_dict(), {**kind().to_dict(), "processor_class": None})
    return {"image_processor_type": kind.__name__.removesuffix("Pil"), **different}


def _differences_of_model(owner: Any, plan: PartPlan, model: torch.nn.Module) -> dict[str, Any]:
    """Return `differences` if they build a model of the same size: some classes use keys that they do not declare."""
    config = differences(owner, plan)
    try:
        with Patches() as patches, virtual_weights(patches, torch.float32):
            built = construct(owner, replace(plan, only_differences=True), config)
    except Exception:  # noqa: BLE001  without a key that it uses, each class fails in its own way
        return _plain_config(plan)
    if [weight.shape for weight in built.parameters()] == [weight.shape for weight in model.parameters()]:
        return config
    return _plain_config(plan)


def _plain_config(plan: PartPlan) -> dict[str, Any]:
    """Return the values of the file that are configuration."""
    return {
        key: value
        for key, value in plan.config.items()
        if not str(key).startswith("_") and key not in NOT_CONFIGURATION
    }


def differences(owner: Any, plan: PartPlan) -> dict[str, Any]:
    """Return the values of a configuration that differ from the defaults of its class."""
    if plan.only_differences:
        return dict(plan.config)
    config = _plain_config(plan)
    if getattr(owner, "config_class", None) is not None:
        return _differences_of_transformer(owner.config_class, config)
    if hasattr(owner, "from_config"):
        return _different_from(config, _signature_defaults(owner))
    return _different_from(config, owner().to_dict()) if hasattr(owner, "from_dict") else {}


def _signature_defaults(owner: Any) -> dict[str, Any]:
    """Return the defaults of the class; diffusers also ignores keys that it does not take."""
    return {
        name: parameter.default for name, parameter in inspect.signature(owner.__init__).parameters.items()
        if name not in ("self", "kwargs")
    }  # fmt: skip


def _different_from(config: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in config.items() if key in defaults and not _is_equal(value, defaults[key])
    }  # fmt: skip


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    return type(one) is type(other) and bool(one == other)


def _differences_of_transformer(config_class: Any, config: dict[str, Any]) -> dict[str, Any]:
    """Return the values with which the class makes the same configuration; checked by making it."""
    defaults = config_class().to_dict()
    expected = _known_part(config_class.from_dict(config).to_dict(), defaults)

    def is_enough(values: dict[str, Any]) -> bool:
        try:
            return bool(_known_part(config_class(**values).to_dict(), defaults) == expected)
        except Exception:  # noqa: BLE001  each class refuses inconsistent values in its own way
            return False

    values = {key: value for key, value in config.items() if key != "model_type"}
    for path in [*_paths(config)]:
        shorter = _remove_path(values, path)
        if shorter != values and is_enough(shorter):
            values = shorter
    return values


def _known_part(config: Any, defaults: Any) -> Any:
    """Return the part of a configuration that its class knows; the classes keep unknown keys."""
    if not (isinstance(config, Mapping) and isinstance(defaults, Mapping) and defaults):
        return config
    return {
        key: _known_part(value, defaults[key])
        for key, value in config.items()
        if key in defaults and key not in NOT_CONFIGURATION
    }


def _paths(config: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the keys of a configuration and of nested ones, inner ones after their parents."""
    for key, value in config.items():
        yield (key,)
        if isinstance(value, Mapping):
            yield from ((key, *inner) for inner in _paths(value))


def _remove_path(config: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    key, *rest = path
    if key not in config:
        return dict(config)
    if not rest:
        return {other: value for other, value in config.items() if other != key}
    inner = config[key]
    return {**config, key: _remove_path(inner, tuple(rest))} if isinstance(inner, Mapping) else dict(config)


def facts_of_tokenizer(tokenizer: Any) -> TokenizerFacts:
    """Return what a stand-in needs to reproduce the lengths and special tokens of this tokenizer."""
    if isinstance(tokenizer, StandInTokenizer):
        return tokenizer.facts
    roles = {role: str(getattr(tokenizer, role)) for role in ROLES if getattr(tokenizer, role, None) is not None}
    before, after = _surrounding_tokens(tokenizer)
    known = {str(token): int(number) for token, number in tokenizer.added_tokens_encoder.items()}
    used = {*roles.values(), *before, *after}
    others = [token for token in known if token not in used and "unused" not in token]
    tokens = {token: known.get(token, tokenizer.convert_tokens_to_ids(token)) for token in used}
    tokens |= {token: known[token] for token in others[:MAX_SPECIAL_TOKENS]}
    template = tokenizer.chat_template
    return TokenizerFacts(
        model_max_length=int(min(tokenizer.model_max_length, NO_LIMIT)),
        vocab_size=int(tokenizer.vocab_size),
        prefix=before,
        suffix=after,
        padding_side=tokenizer.padding_side,
        special_tokens=dict(sorted(tokens.items(), key=lambda pair: pair[1])),
        roles=roles,
        chat_template=template if isinstance(template, str) else None,
    )


def _surrounding_tokens(tokenizer: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the special tokens before and after every text."""
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    framed = tokenizer("a")["input_ids"]
    if not plain:
        return (), tuple(tokenizer.convert_ids_to_tokens(framed))
    start = next((place for place in range(len(framed)) if framed[place : place + len(plain)] == plain), 0)
    before, after = framed[:start], framed[start + len(plain) :]
    return tuple(tokenizer.convert_ids_to_tokens(before)), tuple(tokenizer.convert_ids_to_tokens(after))


def describe_source(source: str, name: str, dtype: str | None = None, **facts: Any) -> Entry:
    """Return the entry of a folder, a file or a hub id; `facts` are the keys that configurations do not have."""
    resolved = resolve(source)
    if resolved.place is Place.catalogue:
        raise RequestError(f"{source} is already in the catalogue; `diffprof models show {resolved.name}` shows it")
    plan = blueprint_of(source)
    if facts.get("year") or facts.get("licence"):
        facts["facts_source"] = "given when the entry was made"
    if dtype is not None:
        plan = replace(plan, dtype=dtype)
    if resolved.place is Place.hub:
        return describe(plan, name, facts.pop("title", None) or str(source), f"huggingface.co {source}",
                        hub_id=str(source), **facts)  # fmt: skip
    path = str(Path(source).expanduser().absolute())
    return describe(plan, name, facts.pop("title", None) or Path(path).name, path, path=path, **facts)
