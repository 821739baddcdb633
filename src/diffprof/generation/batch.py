"""``generation_config.json``: what was asked of which models, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from diffprof.generation.profiling_data import plain
from diffprof.generation.request import Wanted
from diffprof.record.atomic_files import replace_file

FILE = "generation_config.json"

# 1: the first. docs/generation_config.schema.json describes it.
FORMAT = {"name": "diffprof-generation", "version": 1}


@dataclass(frozen=True)
class ModelResult:
    """What one model made, or why it made nothing."""

    model_id: str
    model_name: str
    image: Any = None
    """The picture, or the frames of a film."""
    filepath: Path | None = None
    seed: int = 0
    profiling_data: dict[str, Any] | None = None
    error: Exception | None = None
    """A `DiffprofError` says in one sentence what was wrong."""


@dataclass
class Batch(Sequence[ModelResult]):
    """The results in the order of the models, and the folder that they are in."""

    folder: Path
    timestamp: str
    model_ids: tuple[str, ...]
    asked: Wanted
    results: list[ModelResult] = field(default_factory=list)

    @property
    def config_path(self) -> Path:
        return self.folder / FILE

    @property
    def failures(self) -> list[ModelResult]:
        return [result for result in self.results if result.error is not None]

    def write(self) -> None:
        """Write the file anew: it is whole at any moment, also when the batch is interrupted."""
        text = json.dumps(document(self.timestamp, self.model_ids, self.asked, self.results), indent=2, allow_nan=False)
        replace_file(self.config_path, f"{text}\n".encode())

    @overload
    def __getitem__(self, index: int) -> ModelResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[ModelResult]: ...
    def __getitem__(self, index: int | slice) -> ModelResult | list[ModelResult]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[ModelResult]:
        return iter(self.results)


def document(timestamp: str, model_ids: Sequence[str], asked: Wanted, results: Sequence[ModelResult]) -> dict[str, Any]:
    """The content of the file: under the guides' keys, and what is needed to make the same pictures again."""
    return {
        "format": FORMAT,
        "timestamp": timestamp,
        "prompt": asked.prompt,
        "negative_prompt": asked.negative_prompt,
        "num_inference_steps": asked.num_inference_steps,
        "guidance_scale": asked.guidance_scale,
        "width": asked.width,
        "height": asked.height,
        "seed": asked.seed,
        "scheduler": asked.scheduler,
        "cache": asked.cache,
        "arguments": {name: _plain(value) for name, value in asked.more.items()},
        "model_ids": list(model_ids),
        "models": [_entry(result) for result in results],
    }


def _entry(result: ModelResult) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "model_id": result.model_id,
        "model_name": result.model_name,
        "image_path": str(result.filepath) if result.filepath else None,
        "seed": result.seed,
        "compute_profile": plain(result.profiling_data),
    }
    return entry if result.error is None else {**entry, "error": error_sentence(result.error)}


def error_sentence(error: Exception) -> str:
    """What went wrong, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _plain(value: Any) -> Any:
    """A call argument as JSON holds it; what it cannot hold is named by its kind."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and value - value == 0):
        return value
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return type(value).__name__
