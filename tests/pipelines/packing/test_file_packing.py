"""Packed weights of a file, for the layers of a model without weights."""

from __future__ import annotations

import torch

from diffprof.pipelines.headers.header import StoredTensor
from diffprof.pipelines.headers.stored_weights import StoredWeights
from diffprof.pipelines.packing.file_packing import plan_file_packing
from diffprof.pipelines.packing.packed_weights import PLANNED


def model() -> torch.nn.Module:
    with torch.device("meta"):
        return torch.nn.Sequential(torch.nn.Linear(256, 4), torch.nn.Linear(256, 4), torch.nn.Conv2d(256, 4, 1))


def stored(**kinds: str) -> StoredWeights:
    tensors = {f"{name[1:]}.weight": StoredTensor((4, 256), kind, 4 * 144) for name, kind in kinds.items()}
    return StoredWeights(tensors)


def test_only_linear_layers_that_are_packed_stand_for_packed_weights() -> None:
    whole = model()
    assert plan_file_packing("transformer", whole, stored(_0="Q4_K", _1="float16", _2="Q4_K")) == []
    packed = [getattr(layer.weight, PLANNED, None) for layer in whole]
    assert packed[0] is not None and packed[0].stored_bytes == 4 * 144
    assert packed[1:] == [None, None]


def test_a_file_that_is_not_packed_changes_nothing() -> None:
    whole = model()
    assert plan_file_packing("transformer", whole, stored(_0="float16")) == []
    assert not hasattr(whole[0].weight, PLANNED)


def test_names_that_fit_no_layer_are_said() -> None:
    (sentence,) = plan_file_packing("transformer", model(), stored(_blocks="Q4_K"))
    assert sentence.startswith("transformer: which layers the packed weights belong to is not known")
