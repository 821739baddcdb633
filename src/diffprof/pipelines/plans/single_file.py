"""Read the plan of a pipeline from the header of a single weight file, as ComfyUI, A1111 and Civitai use them.

The architecture is inferred with the tables of diffusers' own single-file loader, and from the exact number of weights;
configurations come from the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from diffprof import catalogue
from diffprof.catalogue import Entry
from diffprof.errors import DiffprofError, RequestError
from diffprof.pipelines.headers.files import read_header
from diffprof.pipelines.headers.header import StoredTensor, WeightHeader
from diffprof.pipelines.headers.stored_weights import StoredWeights, computing_dtype, stored_weights
from diffprof.pipelines.plans.architectures import infer_architecture
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan, from_entry
from diffprof.pipelines.plans.file_names import most_likely_entry
from diffprof.pipelines.plans.folder import from_folder, read_json

OpenModel = Callable[[str], Blueprint]
"""Returns the plan of a model by name."""

DENOISER, VAE, TEXT, UNUSED = "denoiser", "vae", "text", "unused"

# Prefixes of the models in a checkpoint; the first match is used.
PREFIXES = (
    ("model_ema.", UNUSED),
    ("model.diffusion_model.", DENOISER),
    ("first_stage_model.", VAE),
    ("vae.", VAE),
    ("audio_vae.", "audio_vae"),
    ("vocoder.", "vocoder"),
    ("cond_stage_model.", TEXT),
    ("conditioner.embedders.0.", TEXT),
    ("conditioner.embedders.1.", TEXT),
    ("text_encoders.", TEXT),
)

TEXT_NAMES = ("text_model.", "encoder.block.", "shared.", "model.layers.", "token_embd.")
VAE_CLASSES = ("Autoencoder", "AsymmetricAutoencoder", "VQ", "PaellaVQ")
NON_MODEL_ENDINGS = (
    "Scheduler",
    "Tokenizer",
    "TokenizerFast",
    "Processor",
    "FeatureExtractor",
    "Guidance",
    "SafetyChecker",
)
NOT_LOADED = "safety_checker"
"""Diffusers does not load one from a single file."""


def from_file(file: Path, name: str, config: str | None, open_model: OpenModel) -> Blueprint:
    """Return the plan of the pipeline that the file contains, whole or partly; `config` is the model for the rest."""
    header = read_header(file)
    groups = _groups(header.tensors)
    slot = None if config is not None else slot_of_file(file)
    if config is not None:
        blueprint, found = open_model(config), f"with the configuration of {config}"
    elif slot is not None:
        folder = file.absolute().parents[1]
        blueprint, found = from_folder(folder, str(folder)), f"as the {slot} of {folder}"
    else:
        blueprint, found = _identify(file, header, groups, open_model)
    parts = {name: plan for name, plan in blueprint.parts.items() if name != NOT_LOADED}
    stored = {slot: stored_weights(header.tensors)} if slot is not None else _assign(groups, parts, file)
    absent = [
        name for name, plan in parts.items() if name not in stored and not plan.class_name.endswith(NON_MODEL_ENDINGS)
    ]
    assumptions = [f"{file.name} was opened {found}"]
    if config is None and slot is None:
        for name, entry in _other_origins(stored, parts).items():
            parts[name] = from_entry(entry).parts[name]
            assumptions.append(
                f"{name} in {file.name} has the size of that of {entry.name}, whose configuration it gets"
            )
    if absent:
        assumptions.append(f"{file.name} does not hold {', '.join(absent)}: taken from {blueprint.name}")
    return replace(
        blueprint,
        name=name,
        source="file",
        parts=parts,
        dtype=_computing_dtype(stored, parts, blueprint.dtype),
        stored=stored,
        assumptions=(*assumptions, *blueprint.assumptions),
    )


def _computing_dtype(stored: Mapping[str, StoredWeights], parts: Mapping[str, PartPlan], usual: str) -> str:
    """Return the dtype of the denoiser's weights; a VAE or a text encoder alone does not determine it."""
    denoisers = [weights for slot, weights in stored.items() if _kind(parts[slot]) == DENOISER]
    if not denoisers:
        return usual
    main = max(denoisers, key=lambda weights: weights.elements)
    return computing_dtype(main, "bfloat16" if usual == "float32" else usual)


@dataclass(frozen=True)
class _Group:
    """The tensors of one model in a checkpoint."""

    kind: str
    weights: StoredWeights


def _groups(tensors: Mapping[str, StoredTensor]) -> list[_Group]:
    """Return the models in a checkpoint; a file without the prefixes of a checkpoint has one."""
    found: dict[tuple[str, str], dict[str, StoredTensor]] = {}
    for name, tensor in tensors.items():
        prefix, kind = next((pair for pair in PREFIXES if name.startswith(pair[0])), ("", UNUSED))
        if prefix == "text_encoders.":
            prefix = ".".join(name.split(".")[:2]) + "."
        found.setdefault((prefix, kind), {})[name] = tensor
    if not any(kind == DENOISER for _, kind in found):
        # `vae.` and the like next to a model without a prefix: only published by LTX and Mochi.
        alone = found.pop(("", UNUSED), {})
        found[("", _kind_without_prefix(alone))] = alone
    return [_Group(kind, stored_weights(group)) for (_, kind), group in found.items() if kind != UNUSED and group]


def _kind_without_prefix(tensors: Mapping[str, StoredTensor]) -> str:
    """Return the kind of a model whose names have no prefix."""
    if any(name.startswith("decoder.") for name in tensors) and any(name.startswith("encoder.") for name in tensors):
        return VAE
    return TEXT if any(name.startswith(TEXT_NAMES) for name in tensors) else DENOISER


def slot_of_file(file: Path) -> str | None:
    """Return the component in whose folder the file is, if that is a folder in diffusers layout."""
    folder = file.absolute().parent
    index = folder.parent / "model_index.json"
    if not (folder / "config.json").is_file() or not index.is_file():
        return None
    return folder.name if isinstance(read_json(index).get(folder.name), list) else None


def _published_entries() -> list[catalogue.Entry]:
    """Return entries with a configuration: one that a user made of a file would lead back to that file."""
    return [entry for entry in catalogue.entries() if entry.path is None]


def _identify(file: Path, header: WeightHeader, groups: list[_Group], open_model: OpenModel) -> tuple[Blueprint, str]:
    _refuse_adapters(file, header)
    main = max(groups, key=lambda group: (group.kind == DENOISER, group.weights.elements))
    elements = main.weights.elements - _tied_elements(main.weights)
    inferred = infer_architecture(header.tensors)
    same = [entry for entry in _published_entries() if _has_part_with(entry, elements)]
    if same:
        chosen = most_likely_entry(same, file, None if inferred is None else inferred.hub_id)
        others = f", as {_count(len(same) - 1, 'other')} of the catalogue" if len(same) > 1 else ""
        return open_model(chosen.name), f"as {chosen.name}, which has exactly its {elements:,} weights{others}"
    if inferred is None:
        raise RequestError(_unknown(file, header, elements))
    near = [entry for entry in _published_entries() if _has_similar_denoiser(entry, inferred.hub_id, elements)]
    model = most_likely_entry(near, file, inferred.hub_id).name if near else inferred.hub_id
    try:
        return open_model(model), f"as {inferred.kind}, the type that diffusers sees in it"
    except DiffprofError as error:
        raise RequestError(
            f"{file} is of the type {inferred.kind}, and the configuration of {inferred.hub_id} cannot be loaded "
            f"({error}); give a folder that has it with --config"
        ) from None


def _tied_elements(weights: StoredWeights) -> int:
    """Return the elements of T5's embedding table, which has two names and is stored twice in some files."""
    names = ("shared.weight", "encoder.embed_tokens.weight")
    both = [weights.tensors[name] for name in names if name in weights.tensors]
    return both[0].elements if len(both) > 1 and both[0].shape == both[1].shape else 0


def _has_part_with(entry: Entry, elements: int) -> bool:
    """Whether a part of the entry has that many weights; a file may also contain its buffers."""
    return any(
        part.parameters and elements in (part.parameters, part.parameters + part.buffers)
        for slot, part in entry.components.items()
        if slot != NOT_LOADED
    )


def _has_similar_denoiser(entry: Entry, hub_id: str, elements: int) -> bool:
    """Whether a model has another one's denoiser, with about as many weights as a file: one may have an extra norm."""
    known = catalogue.find(hub_id)
    classes = {part.class_name for part in known.components.values()} if known else set()
    return any(
        part.class_name in classes and part.parameters and abs(part.parameters - elements) <= elements // 100_000
        for part in entry.components.values()
    )


def _refuse_adapters(file: Path, header: WeightHeader) -> None:
    for marks, sentence in OTHER_FILES.items():
        if any(mark in name for name in header.tensors for mark in marks):
            raise RequestError(f"{file} {sentence.format(file=file)}")


OTHER_FILES: Mapping[tuple[str, ...], str] = {
    ("lora_A.", "lora_B.", "lora_up.", "lora_down.", ".hada_w1_a", ".lokr_w1"):
        "is a LoRA, not a model; profile the model with --lora {file}",
    ("ip_adapter.", "image_proj."):
        "is an IP-Adapter, not a model; profile the model with --ip-adapter",
    (".wscales", ".smooth_factor"):
        "is packed by Nunchaku (SVDQuant), whose layers diffusers does not have; "
        "profile the model that it was made from, with --quantize nf4 for weights of four bits",
    ("emb_params", "string_to_param"):
        "is an embedding for prompts (textual inversion), which adds words to a tokenizer and costs nothing by itself",
}  # fmt: skip
"""Other things that are published as one file: marks in tensor names, and what to do with it."""


def _unknown(file: Path, header: WeightHeader, elements: int) -> str:
    parts = [(entry, part) for entry in _published_entries() for part in entry.components.values() if part.parameters]
    entry, part = min(parts, key=lambda pair: abs((pair[1].parameters or 0) - elements))
    example = min(header.tensors, key=len)[:80]
    return (
        f"{file} has an architecture that diffusers does not know: "
        f"{_count(len(header.tensors), 'tensor')} such as {example} "
        f"with {elements:,} elements; the nearest in size is the {part.slot} of {entry.name} "
        f"({part.parameters:,}); give the model to take its configuration from with --config"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _assign(groups: list[_Group], parts: Mapping[str, PartPlan], file: Path) -> dict[str, StoredWeights]:
    """Assign the weights to slots: by kind, and by size if several parts are of a kind."""
    stored: dict[str, StoredWeights] = {}
    for group in sorted(groups, key=lambda group: -group.weights.elements):
        slots = [slot for slot in _slots_for(group, parts, len(groups) == 1) if slot not in stored]
        if slots:
            elements = group.weights.elements
            nearest = min(
                slots, key=lambda slot: (abs((parts[slot].parameters or 0) - elements), not _is_mentioned(slot, file))
            )
            stored[nearest] = group.weights
    if not stored:
        raise RequestError(f"{file} holds nothing that fits a part of this pipeline ({', '.join(parts)})")
    return stored


def _is_mentioned(slot: str, file: Path) -> bool:
    """Whether the name of a file mentions one of two equal denoisers: Wan 2.2 has one for each end of the noise."""
    return slot.endswith("_2") and re.search(r"low[\W_]?noise", file.name, re.IGNORECASE) is not None


def _other_origins(stored: Mapping[str, StoredWeights], parts: Mapping[str, PartPlan]) -> dict[str, Entry]:
    """Return the catalogue models with a part as large as the file's, by slot, if that of the chosen model differs.

    Versions of a model share a denoiser and differ in their VAE (LTX-Video).
    """
    found: dict[str, Entry] = {}
    for slot, weights in stored.items():
        plan = parts[slot]
        if _kind(plan) == DENOISER or _is_near(plan.parameters, weights.elements):
            continue
        for entry in _published_entries():
            other = entry.components.get(slot)
            if other and other.class_name == plan.class_name and _is_near(other.parameters, weights.elements):
                found.setdefault(slot, entry)
    return found


def _is_near(parameters: int | None, elements: int) -> bool:
    """Whether a file can contain a model with that many parameters: some have additional statistics or buffers."""
    return parameters is None or abs(parameters - elements) <= elements // 1000


def _slots_for(group: _Group, parts: Mapping[str, PartPlan], is_alone: bool) -> list[str]:
    models = {slot: plan for slot, plan in parts.items() if not plan.class_name.endswith(NON_MODEL_ENDINGS)}
    if group.kind not in (DENOISER, VAE, TEXT):
        return [slot for slot in models if slot == group.kind]
    kinds = {slot: _kind(plan) for slot, plan in models.items()}
    own = [slot for slot, kind in kinds.items() if kind == group.kind]
    if is_alone:
        # A file with one model may be a VAE or a text encoder: the exact number of weights decides.
        elements = group.weights.elements
        exact = [slot for slot, plan in models.items() if plan.parameters == elements]
        return exact or own
    return own


def _kind(plan: PartPlan) -> str:
    if plan.library == "transformers":
        return TEXT
    return VAE if plan.class_name.startswith(VAE_CLASSES) else DENOISER
