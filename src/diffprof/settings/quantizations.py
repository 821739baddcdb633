"""The kinds of quantization that a user can name, with the library of each. Does not need torch."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from diffprof.errors import RequestError

GGUF_BLOCKS = {
    "Q2_K": (256, 84), "Q3_K": (256, 110), "Q4_0": (32, 18), "Q4_1": (32, 20), "Q4_K": (256, 144), "Q5_0": (32, 22),
    "Q5_1": (32, 24), "Q5_K": (256, 176), "Q6_K": (256, 210), "Q8_0": (32, 34), "IQ4_NL": (32, 18),
    "IQ4_XS": (256, 136),
}  # fmt: skip
"""Elements and bytes of a block of each GGUF type."""


@dataclass(frozen=True)
class Quantization:
    """A kind of quantization of linear layers."""

    bits: float
    """Bits per weight, including its share of the scales."""
    is_unpacked: bool
    """Whether each product makes an unpacked copy in the compute dtype."""
    passes: float
    """How often unpacked weights are read or written before each product; 0 if the kernel unpacks them itself."""
    computes_in: str | None = None
    """The dtype of the products, if activations are quantized, too."""
    source: str = ""
    """The source for the time of unpacking."""
    output_copies: float = 0
    """The workspace of a product, in multiples of its output."""
    rows_at_once: int = 0
    """Rows of a product for which its kernel unpacks all weights again, unless it is compiled; 0 for once."""


_FLUX = "FLUX.1-dev on an H100, with and without: huggingface/blog diffusers-quantization.md"
_COMPILED = "FLUX.1-dev on an H100, compiled: sayakpaul/diffusers-torchao README.md"
_HALVES = "as int8, and unpacked from halves of bytes"
_TINY = f"{_FLUX}; PixArt-Sigma: huggingface/blog quanto-diffusers.md"
QUANTIZATIONS = {
    # bitsandbytes: blocks of 64 with a scale of 32 bits, which nf4-double packs into 8 bits, 256 of them with another.
    "bitsandbytes:nf4": Quantization(4.5, True, 1, source=_FLUX),
    "bitsandbytes:nf4-double": Quantization(4 + 8 / 64 + 32 / (64 * 256), True, 1, source=_FLUX),
    "bitsandbytes:fp4": Quantization(4.5, True, 1, source=_FLUX),
    # Sums in 32 bits and the result in float16, before there is one in the dtype of the computation.
    "bitsandbytes:int8": Quantization(8, False, 24, source=_FLUX, output_copies=3),
    "torchao:int8": Quantization(8, True, 4, source=_FLUX),
    "torchao:fp8": Quantization(8, True, 4, source=_FLUX),
    # Groups of 128 with a scale and a zero point of 16 bits. PyTorch's kernel (tinygemm) is made for single tokens.
    "torchao:int4": Quantization(4.25, False, 6, source=_TINY, rows_at_once=16),
    "torchao:int8-dynamic": Quantization(8, False, 0, "int8", _COMPILED),
    "torchao:fp8-dynamic": Quantization(8, False, 0, "float8", _COMPILED),
    "quanto:int8": Quantization(8, True, 4, source=_FLUX),
    "quanto:fp8": Quantization(8, True, 4, source=_FLUX),
    "quanto:int4": Quantization(4.25, True, 6, source=_TINY, rows_at_once=16),
    "quanto:int2": Quantization(2.25, True, 6, source=_HALVES),
    **{
        f"gguf:{name}": Quantization(8 * size / elements, True, 4 if name == "Q8_0" else 16, source=_FLUX)
        for name, (elements, size) in GGUF_BLOCKS.items()
    },
}
"""All kinds that a user can name, as ``LIBRARY:KIND``, with what predictions need."""

LAYERWISE = Quantization(8, True, 1, source=_FLUX)
"""Layers that are stored in 8 bits and cast before each use."""


def _kinds() -> dict[str, tuple[str, ...]]:
    kinds: dict[str, tuple[str, ...]] = {}
    for name in QUANTIZATIONS:
        library, _, kind = name.partition(":")
        kinds[library] = (*kinds.get(library, ()), kind)
    return kinds


KINDS = _kinds()
"""The kinds of each library."""

USUAL_LIBRARY = {
    "nf4": "bitsandbytes", "nf4-double": "bitsandbytes", "fp4": "bitsandbytes",
    "int8": "torchao", "fp8": "torchao", "int4": "torchao", "int8-dynamic": "torchao", "fp8-dynamic": "torchao",
    "int2": "quanto",
}  # fmt: skip
"""The library of a kind that is given without one."""

OTHER_NAMES = {"bnb": "bitsandbytes", "ao": "torchao", "float8": "fp8", "8bit": "int8", "4bit": "nf4"}

STORAGE_DTYPES = {"fp8": "float8_e4m3fn", "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
"""Dtypes for the storage of layers that are cast when they are called."""

GGUF_INSTEAD = {
    "Q2_K": "Q4_0", "Q3_K": "Q4_0", "IQ4_XS": "IQ4_NL", "Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0",
}  # fmt: skip
"""The type that llama.cpp uses for weights whose rows are not a multiple of 256."""


def quantization_name(text: str) -> str:
    """``LIBRARY:KIND`` for a quantization that is given with or without its library."""
    library, colon, kind = text.strip().rpartition(":")
    library = OTHER_NAMES.get(library.lower(), library.lower())
    if library == "gguf" or (not colon and kind.upper() in KINDS["gguf"]):
        kind, library = kind.upper().removesuffix("_S").removesuffix("_M").removesuffix("_L"), "gguf"
    else:
        kind = kind.lower().replace("_", "-")
        kind = OTHER_NAMES.get(kind, kind)
        library = library or USUAL_LIBRARY.get(kind, "")
    if kind in KINDS.get(library, ()):
        return f"{library}:{kind}"
    if colon and library in KINDS:
        raise RequestError(f"{library} has no quantization {kind!r}; it has {', '.join(KINDS[library])}.")
    if colon:
        raise RequestError(f"Unknown quantization library {library!r}; there are {', '.join(KINDS)}.")
    hints = difflib.get_close_matches(kind, USUAL_LIBRARY, n=2)
    known = ", ".join(USUAL_LIBRARY)
    hint = f"did you mean {' or '.join(hints)}?" if hints else f"use {known}, gguf:Q4_K or LIBRARY:KIND."
    raise RequestError(f"Unknown quantization {text!r}; {hint}")


def storage_dtype_name(text: str) -> str:
    """The full name of a dtype to store layers in."""
    name = STORAGE_DTYPES.get(text.strip().lower())
    if name is None:
        raise RequestError(f"Layers cannot be stored as {text!r}; use {', '.join(dict.fromkeys(STORAGE_DTYPES))}.")
    return name
