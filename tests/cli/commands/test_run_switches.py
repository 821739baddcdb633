"""The switches of `diffprof run` really act, and each is recorded with what was measured; the same from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import diffprof
from diffprof.pipelines.loading import weights
from diffprof.record.profile import Profile
from tests.cli.conftest import Ended, Run
from tests.pipelines.loadable import saved_with_weights

CALL = ("--height", "8", "--width", "8", "--steps", "1", "--set", "max_sequence_length=24")
ONCE = ("--iterations", "1", "--warmup", "0", "--sample-hz", "0", "--device", "cpu", "--seed", "1")


@pytest.fixture(autouse=True)
def own_attention_backend() -> Iterator[None]:
    """diffusers sets the backend of a model for the whole process as well, and what other tests count would change."""
    from diffusers import attention_backend

    with attention_backend():
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("flux", tmp_path_factory.mktemp("switches") / "flux")


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The pipelines that were loaded meanwhile."""
    found: list[Any] = []
    prepare = weights._prepare

    def note(pipeline: Any, *args: Any) -> None:
        found.append(pipeline)
        prepare(pipeline, *args)

    monkeypatch.setattr(weights, "_prepare", note)
    return found


@pytest.fixture
def switched(run: Run, model: Path, tmp_path: Path) -> Callable[..., tuple[Ended, Profile]]:
    """How a run with these options ended, and its profile."""

    def run_with(*options: str) -> tuple[Ended, Profile]:
        ended = run("run", str(model), *CALL, *ONCE, "-o", str(tmp_path / "out"), *options)
        assert ended.code == 0, ended.err
        return ended, diffprof.load(tmp_path / "out" / "profiling_report.json")

    return run_with


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


@pytest.mark.parametrize(
    ("options", "way"),
    [
        (("--compile", "--verbose"), "whole"),
        pytest.param(("--compile", "regional"), "regional", marks=pytest.mark.extensive),
    ],
)
def test_compile_stands_alone_or_takes_a_way(
    switched: Callable[..., tuple[Ended, Profile]], graphs: list[Any], loaded: list[Any], options: Any, way: str
) -> None:
    ended, profile = switched(*options)
    assert profile.measured is not None and profile.measured.preparation == {"compile": way}
    assert graphs, "torch compiled it"
    (pipeline,) = loaded
    blocks = pipeline.transformer.transformer_blocks
    compiled = [one._compiled_call_impl is not None for one in (pipeline.transformer, blocks[0])]
    assert compiled == [way == "whole", way == "regional"]
    assert "compiled" in ended.out


def test_components_can_be_placed_one_by_one(switched: Callable[..., tuple[Ended, Profile]], loaded: list[Any]) -> None:
    _, profile = switched("--device-map", "transformer=cpu,vae=cpu")
    assert profile.measured is not None
    assert profile.measured.preparation == {"device_map": "transformer=cpu,vae=cpu"}
    assert loaded[0].hf_device_map["transformer"] == "cpu" and hasattr(loaded[0].transformer, "_hf_hook")


def test_weights_are_packed(switched: Callable[..., tuple[Ended, Profile]], loaded: list[Any]) -> None:
    _, profile = switched("--quantize", "transformer=quanto:int8")
    assert "int8" in profile.components["transformer"].weight_bytes_by_dtype
    assert profile.request.changes.quantize == {"transformer": "quanto:int8"}
    kinds = {type(module).__name__ for module in loaded[0].transformer.modules()}
    assert "QLinear" in kinds


def test_another_backend_computes_attention(switched: Callable[..., tuple[Ended, Profile]], loaded: list[Any]) -> None:
    _, profile = switched("--attention", "_native_math")
    assert profile.request.changes.attention == "_native_math"
    processor = loaded[0].transformer.transformer_blocks[0].attn.processor
    assert str(processor._attention_backend.value) == "_native_math"


def test_weights_are_offloaded_and_the_moves_are_recorded(switched: Callable[..., tuple[Ended, Profile]]) -> None:
    ended, profile = switched("--offload", "group")
    assert profile.measured is not None and profile.measured.preparation == {"offload": "group"}
    assert "group offload" in ended.out


def test_a_cache_skips_what_hardly_changes(switched: Callable[..., tuple[Ended, Profile]]) -> None:
    _, profile = switched("--cache", "first_block:1000", "--steps", "3")
    assert profile.measured is not None
    events = [event.hit for event in profile.measured.iterations[0].caches]
    assert events == [False, True, True]
    assert profile.request.changes.cache == "first_block:1000"


def test_a_variant_is_loaded(run: Run, model: Path, tmp_path: Path) -> None:
    vae = model / "vae"
    (vae / "diffusion_pytorch_model.safetensors").rename(vae / "diffusion_pytorch_model.ema.safetensors")
    try:
        options = (*CALL, *ONCE, "-o", str(tmp_path), "--variant")
        assert run("run", str(model), *options, "ema").code == 0
        profile = diffprof.load(tmp_path / "profiling_report.json")
        assert profile.measured is not None and profile.measured.preparation == {"variant": "ema"}
        refused = run("run", str(model), *options, "fp16")
        assert refused.code == 2 and "is missing, the weights of vae" in refused.err
    finally:
        (vae / "diffusion_pytorch_model.ema.safetensors").rename(vae / "diffusion_pytorch_model.safetensors")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--compile=fast",), "compile is whole or regional, not 'fast'"),
        (("--parallel", "ulysses=2"), "needs 2 processes and there is 1; start it with `torchrun --nproc-per-node 2"),
        (("--revision", "main"), "is on this machine; leave it out"),
        (("--variant", "fp16"), "has no weights of the variant fp16"),
        (("--device-map", "unet=cpu"), "has no component unet to place"),
        (("--device-map", "vae=cpu", "--offload", "group"), "both decide where the weights are"),
        (("--device", "gpu"), "unknown device 'gpu'"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    run: Run, model: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    ended = run("run", str(model), *CALL, *ONCE, "-o", str(tmp_path / "none"), *options)
    assert ended.code == 2 and said in ended.err, ended.err
    assert ended.err.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_python_has_the_same_switches(model: Path, graphs: list[Any]) -> None:
    run = diffprof.measure(
        model, prompt="a cat", height=8, width=8, steps=1, max_sequence_length=24, seed=1, warmup=0, iterations=1,
        sample_hz=0, device="cpu", compile="regional", attention="_native_math",
    )  # fmt: skip
    measured = run.profile.measured
    assert measured is not None and measured.preparation == {"compile": "regional"}
    assert run.profile.request.changes.attention == "_native_math"
    assert graphs and measured.load_seconds is not None


@pytest.mark.extensive
def test_python_places_components_as_the_command_does(model: Path) -> None:
    # Not compiled as well: the hooks of a placed component break its graph into seventy, ten seconds of a core.
    run = diffprof.measure(
        model, prompt="a cat", height=8, width=8, steps=1, max_sequence_length=24, seed=1, warmup=0, iterations=1,
        sample_hz=0, device="cpu", device_map={"vae": "cpu"},
    )  # fmt: skip
    measured = run.profile.measured
    assert measured is not None and measured.preparation == {"device_map": "vae=cpu"}
