"""A file with fewer blocks than the published model is opened as deep as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import diffprof
from diffprof.errors import RequestError
from diffprof.pipelines.plans.depth import block_counts
from tests.pipelines.folders import edit, saved
from tests.pipelines.weight_headers import write_shapes
from tests.small_pipelines import SMALL_PIPELINES

CALL = {"prompt": "a cat", "num_inference_steps": 2, "height": 16, "width": 16, "use_cache": False}

Shapes = dict[str, tuple[int, ...]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FLUX with two blocks of one kind and three of the other."""
    folder = saved("flux", tmp_path_factory.mktemp("published"))
    edit(folder / "transformer" / "config.json", lambda config: config.update(num_layers=2, num_single_layers=3))
    return folder


@pytest.fixture(scope="module")
def shapes() -> Shapes:
    weights = SMALL_PIPELINES["flux"].build().transformer.state_dict()
    return {name: tuple(weight.shape) for name, weight in weights.items()}


@pytest.mark.parametrize("prefix", ["", "model.diffusion_model."])
def test_a_pruned_file_costs_what_a_pipeline_of_its_depth_costs(
    folder: Path, shapes: Shapes, prefix: str, tmp_path: Path
) -> None:
    named = {f"{prefix}{name}": shape for name, shape in shapes.items()}
    file = write_shapes(tmp_path / "pruned.safetensors", named, "F32")
    profile = diffprof.profile(file, config=str(folder), **CALL)
    pipeline = SMALL_PIPELINES["flux"].build()
    expected = diffprof.profile(pipeline, **CALL).components["transformer"]
    assert profile.components["transformer"].macs == expected.macs
    assert profile.components["transformer"].parameters == expected.parameters
    counts = block_counts(shapes)
    sentence = (
        f"transformer has as many blocks as the file holds: num_layers {counts['transformer_blocks']} "
        f"and num_single_layers {counts['single_transformer_blocks']}"
    )
    assert sentence in profile.ledger.assumptions


def test_what_differs_in_more_than_its_depth_is_refused(folder: Path, shapes: Shapes, tmp_path: Path) -> None:
    other = {**shapes, "x_embedder.weight": (7, 7)}
    file = write_shapes(tmp_path / "other.safetensors", other)
    with pytest.raises(RequestError, match="the weights of transformer do not fit FluxTransformer2DModel"):
        diffprof.profile(file, config=str(folder), **CALL)
