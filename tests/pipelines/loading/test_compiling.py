"""Denoisers are compiled as a whole or block by block, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from diffprof.errors import RequestError
from diffprof.pipelines.loading.compiling import compile_denoisers
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture
def graphs() -> Iterator[list[Any]]:
    """The graphs that torch compiles meanwhile, with a backend that leaves them as they are."""
    found: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        found.append(graph)
        return graph.forward

    torch._dynamo.reset()
    torch.compiler.set_default_backend(backend)
    yield found
    torch.compiler.set_default_backend(None)
    torch._dynamo.reset()


def blocks_of(pipeline: Any) -> list[Any]:
    transformer = pipeline.transformer
    return [*transformer.transformer_blocks, *transformer.single_transformer_blocks]


@pytest.mark.parametrize(("way", "whole", "blocks"), [("whole", True, False), ("regional", False, True)])
def test_the_denoiser_or_its_blocks_are_compiled(way: str, whole: bool, blocks: bool, graphs: list[Any]) -> None:
    small = SMALL_PIPELINES["flux"]
    plain, pipeline = small.build(), small.build()
    compile_denoisers(pipeline, way)
    assert (pipeline.transformer._compiled_call_impl is not None) is whole
    assert all((block._compiled_call_impl is not None) is blocks for block in blocks_of(pipeline))
    assert pipeline.vae._compiled_call_impl is None
    calls = {**small.arguments(), "num_inference_steps": 1, "output_type": "latent"}
    images = [one(**{**calls, "generator": torch.Generator().manual_seed(1)}).images for one in (plain, pipeline)]
    assert graphs, "it was compiled in its first call"
    assert torch.equal(*images)


def test_a_denoiser_that_names_no_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = SMALL_PIPELINES["flux"].build()
    monkeypatch.setattr(type(pipeline.transformer), "_repeated_blocks", None)
    with pytest.raises(RequestError, match=r"transformer \(FluxTransformer2DModel\) does not say which of its blocks"):
        compile_denoisers(pipeline, "regional")
