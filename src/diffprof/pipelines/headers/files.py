"""Read the header of a weight file by its ending; pickles are refused, because reading one can run code."""

from __future__ import annotations

from pathlib import Path

from diffprof.errors import RequestError
from diffprof.pipelines.headers.gguf import read_gguf_header
from diffprof.pipelines.headers.header import WeightHeader
from diffprof.pipelines.headers.safetensors import read_safetensors_header

READERS = {".safetensors": read_safetensors_header, ".sft": read_safetensors_header, ".gguf": read_gguf_header}
"""Functions that read a header, by file ending."""


def read_header(file: Path) -> WeightHeader:
    """Read the header of a weight file; refuse one without tensors."""
    header = READERS[file.suffix.lower()](file)
    if not header.tensors:
        raise RequestError(f"{file} holds no tensors; check that it is the right file")
    return header
