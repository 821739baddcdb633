"""Which layers are packed, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.errors import RequestError
from diffprof.pipelines.packing.packed_weights import packed_weight
from diffprof.pipelines.packing.quantization import LAYOUTS, kept_modules, plan_quantization, quantizable_layers
from diffprof.settings.quantizations import KINDS


class Model(torch.nn.Module):
    """A model with linear layers of several sizes."""

    _keep_in_fp32_modules = ("time_embedder",)

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        with torch.device("meta"):
            self.layers = torch.nn.ModuleList(torch.nn.Linear(size, 32) for size in sizes)
            self.time_embedder = torch.nn.ModuleDict({"linear_1": torch.nn.Linear(64, 64)})


def test_every_kind_has_a_layout() -> None:
    named = {f"{library}:{kind}" for library, kinds in KINDS.items() for kind in kinds if library != "gguf"}
    assert set(LAYOUTS) == named


def test_what_is_kept_in_float32_is_left_but_by_quanto() -> None:
    """diffusers' quantizer for quanto looks at the name of a layer only, the others at the whole path."""
    model = Model(64)
    assert kept_modules(model) == ["time_embedder"]
    assert [path for path, _ in quantizable_layers(model, "bitsandbytes")] == ["layers.0"]
    assert [path for path, _ in quantizable_layers(model, "quanto")] == ["layers.0", "time_embedder.linear_1"]


def test_rows_of_gguf_that_are_no_multiple_of_256_take_a_type_with_smaller_blocks() -> None:
    model = Model(256, 64, 33)
    done = plan_quantization("transformer", model, "gguf:Q4_K")
    assert (done.packed, done.left) == (2, 1)
    kinds = [getattr(packed_weight(layer.weight), "kind", None) for layer in model.layers]  # type: ignore[arg-type]
    assert kinds == ["Q4_K", "Q5_0", None]
    first: Any = packed_weight(model.layers[0].weight)  # type: ignore[arg-type]
    assert first.stored_bytes == 32 * 144


def test_int4_of_torchao_needs_rows_of_whole_groups() -> None:
    with pytest.raises(RequestError, match=r"cannot be quantized to torchao:int4: its linear layers do not have"):
        plan_quantization("transformer", Model(64), "torchao:int4")


def test_a_model_without_linear_layers_cannot_be_quantized() -> None:
    with pytest.raises(RequestError, match=r"vae \(Conv2d\) cannot be quantized to bitsandbytes:nf4: it has no linear"):
        plan_quantization("vae", torch.nn.Conv2d(3, 3, 3, device="meta"), "bitsandbytes:nf4")


def test_text_encoders_cannot_stay_gguf() -> None:
    from transformers import CLIPTextConfig, CLIPTextModel

    config = CLIPTextConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    with pytest.raises(RequestError, match="text_encoder cannot be quantized to gguf:Q8_0: transformers unpacks GGUF"):
        plan_quantization("text_encoder", CLIPTextModel(config), "gguf:Q8_0")
