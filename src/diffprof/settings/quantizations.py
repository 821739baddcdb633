"""The ways to quantize weights that a user can name, and the library that does each; no torch."""

from __future__ import annotations

import difflib

from diffprof.errors import RequestError

KINDS: dict[str, tuple[str, ...]] = {
    "bitsandbytes": ("nf4", "nf4-double", "fp4", "int8"),
    "torchao": ("int8", "fp8", "int4", "int8-dynamic", "fp8-dynamic"),
    "quanto": ("int8", "fp8", "int4", "int2"),
    "gguf": ("Q2_K", "Q3_K", "Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1", "Q5_K", "Q6_K", "Q8_0", "IQ4_NL", "IQ4_XS"),
}
"""What each library can do, as diffusers uses it."""

USUAL_LIBRARY = {
    "nf4": "bitsandbytes", "nf4-double": "bitsandbytes", "fp4": "bitsandbytes",
    "int8": "torchao", "fp8": "torchao", "int4": "torchao", "int8-dynamic": "torchao", "fp8-dynamic": "torchao",
    "int2": "quanto",
}  # fmt: skip
"""The library that is meant where a kind is given alone."""

OTHER_NAMES = {"bnb": "bitsandbytes", "ao": "torchao", "float8": "fp8", "8bit": "int8", "4bit": "nf4"}

STORAGE_DTYPES = {"fp8": "float8_e4m3fn", "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
"""What layers can be stored in that are cast to their dtype when they are called."""

GGUF_BLOCKS = {
    "Q4_0": (32, 18), "Q4_1": (32, 20), "Q5_0": (32, 22), "Q5_1": (32, 24), "Q8_0": (32, 34), "IQ4_NL": (32, 18),
    "Q2_K": (256, 84), "Q3_K": (256, 110), "Q4_K": (256, 144), "Q5_K": (256, 176), "Q6_K": (256, 210),
    "IQ4_XS": (256, 136),
}  # fmt: skip
"""Elements and bytes of a block of each GGUF type."""

GGUF_INSTEAD = {
    "Q2_K": "Q4_0", "Q3_K": "Q4_0", "IQ4_XS": "IQ4_NL", "Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0",
}  # fmt: skip
"""What llama.cpp uses for a weight whose rows are no multiple of 256."""


def quantization_name(text: str) -> str:
    """``LIBRARY:KIND`` of a quantization that is given with or without its library; refused where there is none."""
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
