"""Detect code that is not of a known library: functions, classes and compiled kernels of the program itself."""

from __future__ import annotations

import functools
import mmap
import sys
import types
from collections.abc import Iterable, Iterator
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any

import torch

from diffprof.counting.known_layers import known_layer

KNOWN_LIBRARIES = frozenset(
    {"torch", "diffusers", "transformers", "peft", "bitsandbytes", "torchao", "optimum", "gguf"}
)
"""Libraries of models, whose modules keep known state."""

TRUSTED_LIBRARIES = KNOWN_LIBRARIES | {
    "diffprof", "accelerate", "numpy", "PIL", "huggingface_hub", "safetensors", "tokenizers", "tqdm", "einops",
    "xformers", "flash_attn", "flash_attn_interface", "sageattention",  # intercepted where they are called
    "pytest", "_pytest", "pluggy", "rich", "typer", "click",
}  # fmt: skip


@functools.cache
def is_foreign(module_name: str | None) -> bool:
    """Whether code of this module belongs neither to a known library nor to Python itself."""
    library = (module_name or "").split(".")[0]
    return library == "__main__" or library not in TRUSTED_LIBRARIES | sys.stdlib_module_names


def is_foreign_function(value: Any) -> bool:
    """Whether a function is foreign, by where it was written: a decorator gives it the name of the wrapped function."""
    return isinstance(value, types.FunctionType) and is_foreign(value.__globals__.get("__name__"))


def runs_foreign_code(modules: Iterable[torch.nn.Module]) -> bool:
    """Whether a call of these modules runs foreign code: in their classes, or in functions that were set on them."""
    modules = list(modules)
    return any(map(has_foreign_attributes, modules)) or any(map(has_foreign_functions, set(map(type, modules))))


def has_foreign_attributes(module: torch.nn.Module) -> bool:
    """Whether foreign functions were set on a module."""
    return any(map(_is_foreign_callable, list(vars(module).values())))


def has_foreign_functions(owner: type) -> bool:
    """Whether a class or one of its bases has foreign code."""
    if known_layer(owner) is not None:
        return False
    bases = [base for base in owner.__mro__ if base is not torch.nn.Module and base is not object]
    return any(is_foreign(base.__module__) for base in bases) or any(
        is_foreign_function(part)
        for base in bases
        for value in list(vars(base).values())  # another thread may be patching the class
        for function in functions_in(value)
        for part in unwrap_function(function)
    )


def _is_foreign_callable(value: Any) -> bool:
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, functools.partial):
        value = value.func
    return isinstance(value, types.FunctionType) and any(map(is_foreign_function, unwrap_function(value)))


def functions_in(value: Any) -> Iterator[Any]:
    """Yield the functions in an attribute of a class."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, property):
        yield from (part for part in (value.fget, value.fset) if part is not None)
    elif isinstance(value, (types.FunctionType, functools._lru_cache_wrapper)):
        yield value


def unwrap_function(function: Any) -> list[Any]:
    """Return the function and those that it wraps."""
    functions: list[Any] = []
    while function is not None and function not in functions:
        functions.append(function)
        function = getattr(function, "__wrapped__", None)
    return functions


def kernel_name(value: Any) -> str | None:
    """Return the name of foreign compiled code; None for everything else."""
    if isinstance(value, types.ModuleType):
        return f"the compiled module {value.__name__}" if _is_linked_with_torch(value.__name__) else None
    library, _, _ = type(value).__module__.partition(".")
    if library == "torch" and type(value).__name__ in CAPTURED_WORK:
        return CAPTURED_WORK[type(value).__name__]
    if library in KERNEL_LIBRARIES:
        return f"a kernel of {library}"
    if isinstance(value, types.BuiltinFunctionType) and _is_linked_with_torch(value.__module__ or "builtins"):
        return f"the compiled function {value.__module__}.{value.__qualname__}"
    if _is_linked_with_torch(type(value).__module__):
        return f"an object of {type(value).__module__}"
    return None


CAPTURED_WORK = {
    "CUDAGraph": "a captured CUDA graph",
    "XPUGraph": "a captured graph",
    "AOTICompiledModel": "a model that AOTInductor has compiled",
    "AOTIModelPackageLoader": "a model that AOTInductor has compiled",
}
"""Classes of torch whose objects launch captured kernels, whatever their arguments."""

KERNEL_LIBRARIES = frozenset(
    ["triton", "cupy", "cuda", "numba", "ctypes", "_ctypes", "cffi", "tvm", "tilelang", "tensorrt"]
)
"""Libraries whose objects are or launch their own kernels."""

TORCH_LIBRARY_FILES = (b"libc10", b"libtorch", b"c10.dll", b"torch.dll")


@functools.cache
def _is_linked_with_torch(module_name: str) -> bool:
    """Whether it is a foreign compiled module that is linked with PyTorch, and so can take tensors."""
    if not is_foreign(module_name):
        return False
    loader = getattr(getattr(sys.modules.get(module_name), "__spec__", None), "loader", None)
    if not isinstance(loader, ExtensionFileLoader):
        return False
    try:
        with Path(loader.path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(name) >= 0 for name in TORCH_LIBRARY_FILES)
    except (OSError, ValueError):
        return True  # a file that cannot be read is not trusted
