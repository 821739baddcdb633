"""Weight files for tests: headers of any content, and data that is only there as a length."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ITEM_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "U8": 1, "I8": 1}


def write_header(file: Path, header: Any, data_bytes: int = 0) -> Path:
    """A safetensors file with this header, and zeros that take no room on the disk."""
    text = json.dumps(header).encode()
    with file.open("wb") as opened:
        opened.write(len(text).to_bytes(8, "little"))
        opened.write(text)
        opened.truncate(8 + len(text) + data_bytes)
    return file


def write_shapes(file: Path, shapes: Mapping[str, tuple[int, ...]], dtypes: Mapping[str, str] | str = "F16") -> Path:
    """A safetensors file of tensors of these shapes."""
    header, place = {}, 0
    for name, shape in shapes.items():
        dtype = dtypes if isinstance(dtypes, str) else dtypes[name]
        size = math.prod(shape) * ITEM_BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [place, place + size]}
        place += size
    return write_header(file, header, place)
