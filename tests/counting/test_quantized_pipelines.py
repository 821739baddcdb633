"""A model that is quantized in a request has the figures of the really quantized pipeline, to the integer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import diffprof
from tests.pipelines.loadable import saved_with_weights
from tests.small_pipelines import SMALL_PIPELINES
from tests.small_pipelines.quantized import quantize_to_gguf, quantize_with_quanto

FIGURES = ("parameters", "buffers", "weight_bytes", "weight_bytes_by_dtype", "work", "peak_live_bytes", "calls")


@pytest.fixture(scope="module")
def flux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("flux", tmp_path_factory.mktemp("flux"))


@pytest.fixture(scope="module")
def plain(flux: Path) -> diffprof.Profile:
    return diffprof.profile(flux, dtype="float32", **SMALL_PIPELINES["flux"].arguments())


def check_equal(flux: Path, plain: diffprof.Profile, quantization: str, quantize: Callable[[Any], None]) -> None:
    """The profile by request, against that of a live pipeline whose transformer was quantized for real."""
    arguments = SMALL_PIPELINES["flux"].arguments()
    requested = diffprof.profile(flux, dtype="float32", quantize={"transformer": quantization}, **arguments)
    pipeline = SMALL_PIPELINES["flux"].build()
    quantize(pipeline.transformer)
    live = diffprof.profile(pipeline, **arguments)
    for slot, component in live.components.items():
        for figure in FIGURES:
            assert getattr(requested.components[slot], figure) == getattr(component, figure), (slot, figure)
    assert requested.total.macs == plain.total.macs
    assert requested.total.parameters == plain.total.parameters
    assert requested.components["transformer"].weight_bytes < plain.components["transformer"].weight_bytes


@pytest.mark.parametrize("kind", ["int8", "fp8", "int4", "int2"])
def test_quanto(flux: Path, plain: diffprof.Profile, kind: str) -> None:
    check_equal(flux, plain, f"quanto:{kind}", lambda model: quantize_with_quanto(model, kind))


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0"])
def test_gguf(flux: Path, plain: diffprof.Profile, kind: str) -> None:
    check_equal(flux, plain, f"gguf:{kind}", lambda model: quantize_to_gguf(model, kind))


@pytest.mark.parametrize("kind", ["nf4", "nf4-double", "int8"])
def test_bitsandbytes(flux: Path, plain: diffprof.Profile, kind: str) -> None:
    layers = pytest.importorskip("bitsandbytes").nn

    def quantize(model: Any) -> None:
        linears = [(path, part) for path, part in model.named_modules() if isinstance(part, torch.nn.Linear)]
        for path, linear in linears:
            sizes = (linear.in_features, linear.out_features, linear.bias is not None)
            if kind == "int8":
                layer = layers.Linear8bitLt(*sizes, has_fp16_weights=False)
            else:
                double = kind.endswith("double")
                layer = layers.Linear4bit(*sizes, torch.float32, quant_type="nf4", compress_statistics=double)
            layer.load_state_dict(linear.state_dict())
            model.set_submodule(path, layer.to("cpu").eval())

    check_equal(flux, plain, f"bitsandbytes:{kind}", quantize)


@pytest.mark.parametrize("kind", ["int8", "fp8"])
def test_torchao(flux: Path, plain: diffprof.Profile, kind: str) -> None:
    quantization = pytest.importorskip("torchao.quantization")
    configs = {"int8": quantization.Int8WeightOnlyConfig, "fp8": quantization.Float8WeightOnlyConfig}
    check_equal(flux, plain, kind, lambda model: quantization.quantize_(model, configs[kind]()))


def test_layers_that_are_stored_in_float8(flux: Path, plain: diffprof.Profile) -> None:
    arguments = SMALL_PIPELINES["flux"].arguments()
    requested = diffprof.profile(flux, dtype="float32", layerwise="fp8", **arguments)
    pipeline = SMALL_PIPELINES["flux"].build()
    pipeline.transformer.enable_layerwise_casting(storage_dtype=torch.float8_e4m3fn, compute_dtype=torch.float32)
    live = diffprof.profile(pipeline, **arguments)
    for figure in FIGURES:
        assert getattr(requested.components["transformer"], figure) == getattr(live.components["transformer"], figure)
    assert requested.total.macs == plain.total.macs
    assert requested.request.changes.layerwise == {"transformer": "float8_e4m3fn"}


def test_a_text_encoder_keeps_what_transformers_keeps(flux: Path) -> None:
    """transformers' own loader leaves the same layers as they are."""
    from transformers import QuantoConfig, T5EncoderModel

    arguments = SMALL_PIPELINES["flux"].arguments()
    requested = diffprof.profile(flux, dtype="float32", quantize={"text_encoder_2": "quanto:int8"}, **arguments)
    loaded = T5EncoderModel.from_pretrained(
        flux / "text_encoder_2", dtype=torch.float32, quantization_config=QuantoConfig(weights="int8")
    )
    from diffprof.pipelines.components import weight_bytes_by_dtype

    assert requested.components["text_encoder_2"].weight_bytes_by_dtype == weight_bytes_by_dtype(loaded)


def test_a_lora_on_a_quantized_layer_is_counted() -> None:
    small, plain = SMALL_PIPELINES["stable-diffusion-quanto-lora"], SMALL_PIPELINES["stable-diffusion-lora"]
    packed = diffprof.profile(small.build(), **small.arguments())
    dense = diffprof.profile(plain.build(), **plain.arguments())
    assert packed.total.macs == dense.total.macs
    assert packed.components["unet"].parameters == dense.components["unet"].parameters


def test_a_lora_on_layers_of_bitsandbytes_is_counted() -> None:
    """peft's own layers have the same names as those of bitsandbytes."""
    layers = pytest.importorskip("bitsandbytes").nn
    from peft import LoraConfig

    small, plain = SMALL_PIPELINES["stable-diffusion"], SMALL_PIPELINES["stable-diffusion-lora"]
    pipeline = small.build()
    linears = [(path, part) for path, part in pipeline.unet.named_modules() if isinstance(part, torch.nn.Linear)]
    for path, linear in linears:
        sizes = (linear.in_features, linear.out_features, linear.bias is not None)
        layer = layers.Linear4bit(*sizes, torch.float32, quant_type="nf4")
        layer.load_state_dict(linear.state_dict())
        pipeline.unet.set_submodule(path, layer.to("cpu").eval())
    pipeline.unet.add_adapter(LoraConfig(r=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
    packed = diffprof.profile(pipeline, **small.arguments())
    dense = diffprof.profile(plain.build(), **plain.arguments())
    assert packed.total.macs == dense.total.macs
    assert packed.components["unet"].parameters == dense.components["unet"].parameters
