"""Pipelines whose weights are really packed or stored in fewer bits, by the libraries that install on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .flux import flux_components, flux_run
from .inputs import short_run
from .small_pipeline import SmallPipeline
from .stable_diffusion import stable_diffusion_components

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline


def unpack_in_python() -> None:
    """Give quanto its unpacking of bytes in Python: the same in C++ takes a minute to compile on first use."""
    from types import SimpleNamespace

    import torch
    from optimum.quanto.library.extensions.extension import get_extension

    def unpack(packed: torch.Tensor, bits: int) -> torch.Tensor:
        return torch.cat([(packed >> shift) & (2**bits - 1) for shift in range(0, 8, bits)])

    get_extension("quanto_cpp")._lib = SimpleNamespace(unpack=unpack)


def quantize_with_quanto(model: Any, kind: str) -> None:
    """Pack all linear layers of a model in place, as diffusers does when it loads it with a `QuantoConfig`."""
    import torch
    from optimum import quanto

    unpack_in_python()
    kinds = {"int8": quanto.qint8, "fp8": quanto.qfloat8, "int4": quanto.qint4, "int2": quanto.qint2}
    linears = [path for path, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    quanto.quantize(model, weights=kinds[kind], include=linears)
    quanto.freeze(model)


def quantize_to_gguf(model: Any, kind: str) -> None:
    """Pack the linear layers whose rows are whole blocks, and use diffusers' layers for them."""
    import gguf
    import torch
    from diffusers.quantizers.gguf.utils import GGUFParameter, _replace_with_gguf_linear

    quantization = gguf.GGMLQuantizationType[kind]
    block = gguf.GGML_QUANT_SIZES[quantization][0]
    linears = {path: module for path, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    state, biases = {}, {}
    for path, linear in linears.items():
        if linear.in_features % block == 0:
            packed = gguf.quants.quantize(linear.weight.detach().float().numpy(), quantization)
            state[f"{path}.weight"] = GGUFParameter(torch.from_numpy(packed), quant_type=quantization)
            biases[path] = linear.bias
    _replace_with_gguf_linear(model, next(iter(linears.values())).weight.dtype, state)
    for path, bias in biases.items():
        layer = model.get_submodule(path)
        layer.weight, layer.bias = state[f"{path}.weight"], bias


def _store_in_fp8(pipeline: DiffusionPipeline) -> None:
    import torch

    pipeline.unet.enable_layerwise_casting(storage_dtype=torch.float8_e4m3fn, compute_dtype=torch.float32)


def _quantize_and_adapt(pipeline: DiffusionPipeline) -> None:
    from peft import LoraConfig

    quantize_with_quanto(pipeline.unet, "int8")
    pipeline.unet.add_adapter(LoraConfig(r=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))


PIPELINES = (
    SmallPipeline(
        "flux-quanto-int8", "quantized", "FluxPipeline", flux_components, flux_run,
        extend=lambda pipeline: quantize_with_quanto(pipeline.transformer, "int8"),
    ),
    SmallPipeline(
        "flux-gguf-q8", "quantized", "FluxPipeline", flux_components, flux_run,
        extend=lambda pipeline: quantize_to_gguf(pipeline.transformer, "Q8_0"),
    ),
    SmallPipeline(
        "stable-diffusion-quanto-lora", "quantized", "StableDiffusionPipeline", stable_diffusion_components, short_run,
        extend=_quantize_and_adapt,
    ),
    SmallPipeline(
        "stable-diffusion-fp8-layers", "quantized", "StableDiffusionPipeline", stable_diffusion_components, short_run,
        extend=_store_in_fp8,
    ),
)  # fmt: skip
