"""Find the files with a model's weights, and check that they are complete. Safetensors only, never a pickle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.plans.folder import read_json

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
VARIANTS = {torch.float16: "fp16", torch.bfloat16: "bf16"}
RANDOM_WEIGHTS_HINT = "measure with random weights (`diffprof run --random-weights`)"
REMEDY = f"fetch it again, or {RANDOM_WEIGHTS_HINT}"


@dataclass(frozen=True)
class WeightFileChoice:
    """The file from which a library starts to read a model's weights."""

    name: str
    variant: str | None = None
    """The variant, such as ``fp16``, if the weights were published in more than one precision."""

    @property
    def is_index(self) -> bool:
        return self.name.endswith(".json")


@dataclass(frozen=True)
class WeightFiles:
    """The complete weight files of one model."""

    variant: str | None
    files: tuple[Path, ...]

    @property
    def file_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def weight_files(place: Path, slot: str, owner: Any, dtype: torch.dtype, variant: str | None = None) -> WeightFiles:
    """Return the files in a component's folder that its library will read; refuse missing or damaged files."""
    names = [path.name for path in place.iterdir()] if place.is_dir() else []
    choice = choose_weight_file(names, str(place), slot, owner, dtype, variant)
    if choice.is_index:
        index = place / choice.name
        shards = shards_of(index)
        files = tuple(place / name for name in shards)
        for file, tensors in zip(files, shards.values(), strict=True):
            if not file.is_file():
                raise RequestError(f"{file} is missing, though {index.name} lists it; {REMEDY}")
            _refuse_absent(file, tensors, index)
    else:
        files = (place / choice.name,)
        _tensors_in(files[0])
    return WeightFiles(choice.variant, files)


def check_variant(variant: str | None, found: Iterable[str | None], where: str) -> None:
    """Refuse a variant that no component has; one that only some have is used for those, as in diffusers."""
    if variant is not None and variant not in found:
        raise RequestError(f"{where} has no weights of the variant {variant}; leave out --variant or correct it")


def choose_weight_file(
    names: Collection[str], place: str, slot: str, owner: Any, dtype: torch.dtype, variant: str | None = None
) -> WeightFileChoice:
    """Choose the file to read in a component's folder: the requested variant or precision if it exists."""
    stem = _stem(owner)
    for choice in _candidates(stem, variant or VARIANTS.get(dtype), index_first=not _is_of_transformers(owner)):
        if choice.name in names:
            return choice
    pickle = next((name for name in sorted(names) if name.endswith(PICKLES)), None)
    if pickle is not None:
        raise UnsafeModelError(
            f"{place} has the weights of {slot} only as a pickle ({pickle}), which can run code when it is read; "
            f"save the model as safetensors (safe_serialization=True), or {RANDOM_WEIGHTS_HINT}"
        )
    raise RequestError(f"{place}/{stem}.safetensors is missing, the weights of {slot}; {REMEDY}")


def shards_of(index: Path) -> dict[str, list[str]]:
    """Return the files that an index lists, each with its tensors."""
    listed = read_json(index).get("weight_map")
    if not isinstance(listed, Mapping) or not listed or not all(isinstance(name, str) for name in listed.values()):
        raise RequestError(f"{index} lists no weight files; {REMEDY}")
    shards: dict[str, list[str]] = {}
    for tensor, name in listed.items():
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise UnsafeModelError(f"{index} names a weight file that is not one of its folder: {name!r}")
        shards.setdefault(name, []).append(tensor)
    return shards


def _candidates(stem: str, requested: str | None, index_first: bool) -> Iterator[WeightFileChoice]:
    for variant in dict.fromkeys((requested, None, *VARIANTS.values())):
        middle = f".{variant}" if variant else ""
        names = [f"{stem}{middle}.safetensors", f"{stem}.safetensors.index{middle}.json"]
        yield from (WeightFileChoice(name, variant) for name in (reversed(names) if index_first else names))


def _stem(owner: Any) -> str:
    return "model" if _is_of_transformers(owner) else "diffusion_pytorch_model"


def _is_of_transformers(owner: Any) -> bool:
    import transformers

    return issubclass(owner, transformers.PreTrainedModel)


def _refuse_absent(file: Path, tensors: list[str], index: Path) -> None:
    absent = sorted(set(tensors) - _tensors_in(file))
    if absent:
        raise RequestError(f"{file} has no {format_names(absent)}, though {index.name} lists it there; {REMEDY}")


def _tensors_in(file: Path) -> set[str]:
    """Return the names of the tensors in a file; its header must match its size."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(file), framework="pt") as content:
            return set(content.keys())
    except (SafetensorError, OSError, ValueError) as error:
        raise RequestError(f"{file} is damaged ({_known_damage(file) or error}); {REMEDY}") from None


def _known_damage(file: Path) -> str | None:
    """Return a description if the file is a git-lfs pointer, as in a clone without git-lfs."""
    with file.open("rb") as content:
        begins = content.read(64)
    if begins.startswith(b"version https://git-lfs"):
        return "it is a pointer of git-lfs; `git lfs pull` fetches what it points at"
    return "it is empty" if not begins else None


def format_names(names: list[str]) -> str:
    """Return the first name, and how many others there are."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
