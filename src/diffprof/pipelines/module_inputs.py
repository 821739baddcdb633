"""Create the inputs for a call of a single module, from their shapes as a user writes them."""

from __future__ import annotations

import difflib
import inspect
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import torch

from diffprof.errors import RequestError
from diffprof.pipelines.components import entry_methods

SHAPE = re.compile(r"(?P<sizes>\d+(?:x\d+)*|scalar)(?::(?P<dtype>\w+))?", re.ASCII)
LARGEST_REAL_ELEMENTS = 1 << 20
"""A larger floating-point input is virtual, because nothing depends on its values."""
MAX_ELEMENTS = 1 << 34
MAX_INTEGERS = 1 << 26
DTYPES = {
    name: getattr(torch, name)
    for name in ("float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")
}


def check_method(module: torch.nn.Module, method: str) -> None:
    """Refuse a name that is not a method by which pipelines call the module."""
    known = ["forward", *dict.fromkeys(name for _, name in entry_methods(module))]
    if method not in known:
        near = difflib.get_close_matches(method, known, n=2) or known[:8]
        raise RequestError(f"{type(module).__name__} has no method {method!r} to count; it has {', '.join(near)}")


def input_tensors(
    module: torch.nn.Module, inputs: Mapping[str, str], dtype: str, method: str = "forward"
) -> dict[str, Any]:
    """Create zeros of the given shapes, by name: ``1x4096x64``, ``1x77:int64``, ``scalar``; or parse a plain value."""
    parameters = _parameters(module, method)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    name = type(module).__name__
    needed = [each for each, parameter in parameters.items() if _is_needed(parameter)]
    missing = [each for each in needed if each not in inputs]
    if missing:
        others = [each for each, parameter in parameters.items() if each not in needed and _has_name(parameter)]
        also = f"; it can also take {', '.join(others)}" if others else ""
        raise RequestError(
            f"{name} needs {' and '.join(missing)}; give the shape of each, such as --input {missing[0]}=1x16x64{also}"
        )
    tensors = {}
    for each, text in inputs.items():
        if each not in parameters and not takes_any:
            near = difflib.get_close_matches(each, parameters, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(parameters)}."
            raise RequestError(f"{name} has no input {each!r}; {hint}")
        tensors[each] = _value(each, text, dtype, parameters.get(each))
    return tensors


def _parameters(module: torch.nn.Module, method: str) -> dict[str, inspect.Parameter]:
    function = inspect.unwrap(getattr(type(module), method))
    return {name: part for name, part in inspect.signature(function).parameters.items() if name != "self"}


def _has_name(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def _is_needed(parameter: inspect.Parameter) -> bool:
    return _has_name(parameter) and parameter.default is parameter.empty


def _value(name: str, text: str, dtype: str, parameter: inspect.Parameter | None) -> Any:
    match = SHAPE.fullmatch(text.strip())
    if match is None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, bool | float):
            raise RequestError(
                f"--input {name} takes a shape such as 1x4096x64, with a dtype such as 1x77:int64, "
                f"a number such as 3.5, true or false; not {text[:40]!r}"
            )
        return value
    chosen = match["dtype"] or _usual_dtype(name, parameter, dtype)
    if chosen not in DTYPES:
        raise RequestError(f"--input {name} has the unknown dtype {chosen!r}; use one of {', '.join(DTYPES)}")
    sizes = () if match["sizes"] == "scalar" else tuple(int(size) for size in match["sizes"].split("x"))
    return _zeros(name, sizes, DTYPES[chosen])


def _zeros(name: str, sizes: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    elements = math.prod(sizes)
    if len(sizes) > 16 or elements > (MAX_ELEMENTS if dtype.is_floating_point else MAX_INTEGERS):
        raise RequestError(f"--input {name} has {elements:,} elements; no model takes as many")
    is_virtual = dtype.is_floating_point and elements > LARGEST_REAL_ELEMENTS
    return torch.zeros(sizes, dtype=dtype, device="meta" if is_virtual else "cpu")


def _usual_dtype(name: str, parameter: inspect.Parameter | None, dtype: str) -> str:
    """Return the default dtype: integers for token ids and the like, by the name or the annotation."""
    annotation = "" if parameter is None else str(parameter.annotation)
    if "LongTensor" in annotation or "IntTensor" in annotation or name.endswith(("input_ids", "position_ids")):
        return "int64"
    return "bool" if "BoolTensor" in annotation else dtype
