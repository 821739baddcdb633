"""The results of a batch, and its file ``generation_config.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from diffprof.generation.profiling_data import json_values
from diffprof.generation.request import NAMED_ARGUMENTS
from diffprof.record.atomic_files import replace_file
from diffprof.record.request import Request

FILE = "generation_config.json"

# 1: the first. docs/generation_config.schema.json describes it.
FORMAT = {"name": "diffprof-generation", "version": 1}


@dataclass(frozen=True)
class ModelResult:
    """The image or video that one model generated, or the error that it failed with."""

    model_id: str
    model_name: str
    image: Any = None
    """The image, or the list of frames of a video."""
    filepath: Path | None = None
    seed: int = 0
    profiling_data: dict[str, Any] | None = None
    error: Exception | None = None
    """Usually a `DiffprofError`, whose message is one sentence."""


@dataclass
class Batch(Sequence[ModelResult]):
    """The results in the order of the models, and the folder they were saved to."""

    folder: Path
    timestamp: str
    model_ids: tuple[str, ...]
    request: Request
    results: list[ModelResult] = field(default_factory=list)

    @property
    def config_path(self) -> Path:
        return self.folder / FILE

    @property
    def failures(self) -> list[ModelResult]:
        return [result for result in self.results if result.error is not None]

    def write(self) -> None:
        """Write the file atomically, so that it is complete even if the batch is interrupted."""
        text = json.dumps(
            batch_document(self.timestamp, self.model_ids, self.request, self.results), indent=2, allow_nan=False
        )
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


def batch_document(
    timestamp: str, model_ids: Sequence[str], request: Request, results: Sequence[ModelResult]
) -> dict[str, Any]:
    """The content of the file: the keys of the guides, and everything needed to reproduce the images."""
    from diffprof.pipelines.arguments import json_value  # it needs torch

    return {
        "format": FORMAT,
        "timestamp": timestamp,
        **{name: request.arguments.get(name) for name in NAMED_ARGUMENTS},
        "seed": request.seed,
        "scheduler": request.scheduler,
        "cache": request.cache,
        "arguments": {
            name: json_value(value) for name, value in request.arguments.items() if name not in NAMED_ARGUMENTS
        },
        "model_ids": list(model_ids),
        "models": [_entry(result) for result in results],
    }


def _entry(result: ModelResult) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "model_id": result.model_id,
        "model_name": result.model_name,
        "image_path": str(result.filepath) if result.filepath else None,
        "seed": result.seed,
        "compute_profile": json_values(result.profiling_data),
    }
    return entry if result.error is None else {**entry, "error": error_sentence(result.error)}


def error_sentence(error: Exception) -> str:
    """The message of an error, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
