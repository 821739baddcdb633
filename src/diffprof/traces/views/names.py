"""Names out of a trace, short enough for a table: of kernels, functions and causes."""

from __future__ import annotations

import re

from diffprof.render.clean import clean
from diffprof.traces import facts as traces

CAUSES = {
    traces.HOST: "host too slow",
    traces.SYNCHRONISATION: "host had waited",
    traces.LAUNCH: "launch under way",
    traces.STREAM: "other stream or copy",
    traces.QUEUE: "between kernels",
    traces.SHORT: "short gaps",
    traces.UNEXPLAINED: "not recorded",
}

_NOISE = re.compile(r"^void |\(anonymous namespace\)::|at::native::|\{lambda\([^)]*\)#\d+\}|c10::|std::")
_COMPILED_CALL = re.compile(r"^## Call CompiledFxGraph (\w{6})\w* ##$")
_DIGEST = re.compile(r"^([a-z0-9]{8})[a-z0-9]{24,}(?=\.py)")


def short(name: str) -> str:
    """A name without what is the same for all of its kind."""
    name = clean(name)
    compiled = _COMPILED_CALL.match(name)
    if compiled:
        return f"CompiledFxGraph {compiled[1]}"
    return place(name) if _is_place(name) else _NOISE.sub("", name)


def place(function: str) -> str:
    """``/usr/lib/python3/diffusers/models/unet.py(12): forward`` as ``models/unet.py(12): forward``."""
    path, colon, name = clean(function).partition("): ")
    folder, slash, file = "/".join(path.split("/")[-2:]).rpartition("/")
    # What torch.compile writes is named by a digest.
    file = _DIGEST.sub(r"\1...", file)
    return f"{folder}{slash}{file}{colon}{name}"


def _is_place(name: str) -> bool:
    return ".py(" in name
