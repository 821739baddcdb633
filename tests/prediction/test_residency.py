"""Which weights lie on the device while a module runs."""

from __future__ import annotations

from typing import Any

from diffprof.prediction.residency import Groups
from diffprof.prediction.weights import ComponentWeights, ModuleWeights
from diffprof.record.profile import Component, Module
from diffprof.record.run_settings import RunSettings

PATHS = ("conv_in", "blocks.0.linear", "blocks.1.linear", "blocks.2.linear", "proj_out")


def groups(paths: tuple[str, ...] = PATHS, role: str = "denoiser", **settings: Any) -> Groups:
    lists = sorted({path.split(".")[0] for path in paths if "." in path} | {"decoder.up_blocks"})
    modules = tuple(Module(path, "ModuleList", 0) for path in lists) + tuple(
        Module(path, "Linear", 10) for path in paths
    )
    component = Component("unet", "Net", role, "float16", 50, 0, 100, modules=modules)
    weights = ComponentWeights("unet", tuple(ModuleWeights(path, "Linear", 20, 0) for path in paths))
    return Groups(component, weights, RunSettings(**settings), paths)


def test_blocks_come_and_go_and_the_rest_stays() -> None:
    found = groups(offload="group", use_stream=False)
    assert found.bytes == {"": (20, 20), "blocks.0": (20,), "blocks.1": (20,), "blocks.2": (20,)}
    assert found.on_device("blocks.1.linear") == ("", "blocks.1")
    assert found.on_device("conv_in") == ("",)


def test_several_blocks_are_a_group() -> None:
    found = groups(offload="group", use_stream=False, blocks_per_group=2)
    assert found.bytes == {"": (20, 20), "blocks.0": (20, 20), "blocks.1": (20,)}
    assert found.on_device("blocks.2.linear") == ("", "blocks.1")


def test_with_a_stream_the_next_group_is_there_too() -> None:
    found = groups(offload="group")
    assert found.on_device("conv_in") == ("", "blocks.0")
    assert found.on_device("blocks.1.linear") == ("", "blocks.1", "blocks.2")
    assert found.on_device("blocks.2.linear") == ("", "blocks.2")


def test_with_a_stream_blocks_come_one_by_one_whatever_is_asked_for() -> None:
    assert groups(offload="group", blocks_per_group=2).bytes == groups(offload="group").bytes


def test_leaves_are_alone_on_the_device() -> None:
    assert groups(offload="sequential").on_device("blocks.1.linear") == ("blocks.1.linear",)
    ahead = groups(offload="group-leaf")
    assert ahead.on_device("blocks.1.linear") == ("blocks.1.linear", "blocks.2.linear")
    assert ahead.on_device("proj_out") == ("proj_out",)


def test_blocks_of_an_autoencoder_lie_one_level_deeper() -> None:
    paths = ("decoder.conv_in", "decoder.up_blocks.0.conv")
    found = groups(paths, role="vae", offload="group", use_stream=False)
    assert set(found.bytes) == {"", "decoder.up_blocks.0"}


def embeddings(*with_weights: str) -> Groups:
    """A text encoder whose ``embed_tokens`` runs, and whose `with_weights` have weights."""
    paths = ("shared", "embed_tokens", "layer")
    modules = tuple(Module(path, "Linear" if path == "layer" else "Embedding", 10) for path in paths)
    weights = ComponentWeights("t5", tuple(ModuleWeights(path, "Embedding", 20, 0) for path in with_weights))
    component = Component("t5", "T5EncoderModel", "text_encoder", "float16", 50, 0, 100, modules=modules)
    return Groups(component, weights, RunSettings(offload="group-leaf"), ("embed_tokens", "layer"))


def test_tied_weights_are_there_while_the_other_module_runs() -> None:
    assert embeddings("shared", "layer").on_device("embed_tokens") == ("shared", "layer")
    assert embeddings("embed_tokens", "layer").on_device("embed_tokens") == ("embed_tokens", "layer")
    assert embeddings("shared", "embed_tokens", "layer").on_device("embed_tokens") == ("embed_tokens", "layer")
