"""Change a loaded pipeline with the libraries themselves, which gives the same layers as in a dry run."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch

from diffprof.errors import DiffprofError, RequestError, first_line
from diffprof.pipelines.changes.attention_choice import choose_attention
from diffprof.pipelines.changes.lora import (
    lora_file,
    projections,
    read_header,
    refuse_other_adapters,
    require_peft,
    with_slots,
)
from diffprof.pipelines.changes.virtual_changes import store_layers
from diffprof.pipelines.components import components_of, role_of
from diffprof.pipelines.packing.quantization import quantizable_layers
from diffprof.record.changes import Changes

PACKAGES = {"bitsandbytes": "bitsandbytes", "torchao": "torchao", "quanto": "optimum.quanto", "gguf": "gguf"}
PACKAGE_NAMES = {"quanto": "optimum-quanto"}


def check_packages(changes: Changes) -> None:
    """Refuse changes that this machine cannot make, before anything is loaded."""
    for name in ("controlnet", "ip_adapter", "guidance_interval"):
        if getattr(changes, name):
            raise RequestError(f"{name} can be counted but not run here; change a live pipeline and measure that")
    for kind in changes.quantize.values():
        library = kind.partition(":")[0]
        if kind and not _is_installed(PACKAGES[library]):
            package = PACKAGE_NAMES.get(library, library)
            raise RequestError(f"{kind} needs {package} to run; install it with `pip install {package}`")
    if changes.lora:
        require_peft()


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def make_changes(pipeline: Any, changes: Changes, dtype: torch.dtype, device: torch.device) -> None:
    """Make the changes to the components that a dry run found."""
    for slot, kind in changes.quantize.items():
        model = components_of(pipeline)[slot]
        library, _, own = kind.partition(":")
        try:
            QUANTIZE[library](model, own, dtype, device)
        except DiffprofError:
            raise
        except Exception as error:
            raise RequestError(f"{slot} cannot be quantized to {kind} on this machine: {first_line(error)}") from error
    for number, lora in enumerate(changes.lora):
        _add_lora(pipeline, lora, f"lora_{number}")
    for slot, storage in changes.layerwise.items():
        store_layers(pipeline, slot, storage, dtype)
    if changes.attention:
        choose_attention(pipeline, changes.attention, for_real=True)


def _add_lora(pipeline: Any, lora: str, name: str) -> None:
    from safetensors.torch import load_file

    try:
        if not lora.isdecimal():
            file = lora_file(lora)
            refuse_other_adapters(file, read_header(file))
            pipeline.load_lora_weights(with_slots(pipeline, load_file(file)), adapter_name=name)
            return
        from peft import LoraConfig

        for slot, part in components_of(pipeline).items():
            if role_of(slot, part) == "denoiser" and projections(part):
                denoiser: Any = part
                denoiser.add_adapter(LoraConfig(r=int(lora), target_modules=projections(part)), adapter_name=name)
    except DiffprofError:
        raise
    except Exception as error:
        raise RequestError(f"the LoRA {lora} cannot be loaded: {first_line(error)}") from error


def _with_bitsandbytes(model: torch.nn.Module, kind: str, dtype: torch.dtype, device: torch.device) -> None:
    from bitsandbytes import nn

    for path, linear in list(quantizable_layers(model, "bitsandbytes")):
        sizes = (linear.in_features, linear.out_features, linear.bias is not None)
        if kind == "int8":
            layer = nn.Linear8bitLt(*sizes, has_fp16_weights=False, threshold=6.0)
        else:
            double = kind.endswith("-double")
            layer = nn.Linear4bit(*sizes, dtype, quant_type=kind.partition("-")[0], compress_statistics=double)
        layer.load_state_dict(linear.state_dict())
        layer = layer.to(device).eval()
        if linear.bias is not None:
            layer.bias = torch.nn.Parameter(linear.bias.detach().to(device), requires_grad=False)
        model.set_submodule(path, layer)


def _with_torchao(model: torch.nn.Module, kind: str, dtype: torch.dtype, device: torch.device) -> None:
    from torchao import quantization

    configs = {
        "int8": "Int8WeightOnlyConfig", "fp8": "Float8WeightOnlyConfig", "int4": "Int4WeightOnlyConfig",
        "int8-dynamic": "Int8DynamicActivationInt8WeightConfig",
        "fp8-dynamic": "Float8DynamicActivationFloat8WeightConfig",
    }  # fmt: skip
    paths = {path for path, _ in quantizable_layers(model, "torchao")}
    config = getattr(quantization, configs[kind])()
    quantization.quantize_(model, config, filter_fn=lambda module, path: path in paths)


def _with_quanto(model: torch.nn.Module, kind: str, dtype: torch.dtype, device: torch.device) -> None:
    from optimum import quanto

    kinds = {"int8": quanto.qint8, "fp8": quanto.qfloat8, "int4": quanto.qint4, "int2": quanto.qint2}
    paths = [path for path, _ in quantizable_layers(model, "quanto")]
    quanto.quantize(model, weights=kinds[kind], include=paths)
    quanto.freeze(model)


def _with_gguf(model: torch.nn.Module, kind: str, dtype: torch.dtype, device: torch.device) -> None:
    raise RequestError(
        f"diffusers has no way to pack a loaded model as gguf:{kind}; give the .gguf file as the model, or use quanto"
    )


QUANTIZE: dict[str, Callable[[torch.nn.Module, str, torch.dtype, torch.device], None]] = {
    "bitsandbytes": _with_bitsandbytes,
    "torchao": _with_torchao,
    "quanto": _with_quanto,
    "gguf": _with_gguf,
}
"""Functions that quantize the linear layers of a model in place, by library."""
