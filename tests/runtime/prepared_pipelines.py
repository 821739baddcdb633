"""The ways in which people prepare a pipeline before they call it, on small pipelines: the rows of docs/runtime.md."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from diffprof.pipelines.loading.device_maps import spread_components
from tests.runtime.instrumentation.cached_runs import CASES
from tests.runtime.instrumentation.offloaded import OFFLOADS
from tests.small_pipelines import SMALL_PIPELINES, SmallPipeline
from tests.small_pipelines.quantized import quantize_to_gguf, quantize_with_quanto


class Graphs:
    """A backend of `torch.compile` that counts the graphs it compiles and those that are executed."""

    def __init__(self) -> None:
        self.compiled = 0
        self.executed = 0
        self.operations = 0

    def __call__(self, graph: Any, inputs: Any) -> Callable[..., Any]:
        self.compiled += 1
        operations = sum(node.op.startswith("call") for node in graph.graph.nodes)

        def execute(*args: Any) -> Any:
            self.executed += 1
            self.operations += operations
            return graph.forward(*args)

        return execute

    def take(self) -> tuple[int, int, int]:
        """Graphs compiled, graphs executed and operations in them since the last time."""
        taken = self.compiled, self.executed, self.operations
        self.compiled = self.executed = self.operations = 0
        return taken


@dataclass(frozen=True)
class Preparation:
    """A way to prepare a pipeline; `prepare` gets the pipeline and a backend for `torch.compile`."""

    prepare: Callable[[Any, Graphs], None]
    small: SmallPipeline = SMALL_PIPELINES["stable-diffusion"]
    steps: int | None = None
    around: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    """What every call is made in."""

    def build(self, graphs: Graphs | None = None) -> Any:
        pipeline = self.small.build()
        self.prepare(pipeline, graphs or Graphs())
        return pipeline

    def call(self, pipeline: Any) -> torch.Tensor:
        with self.around():
            output: torch.Tensor = pipeline(**self.arguments()).images
        return output

    def arguments(self) -> dict[str, Any]:
        steps = {} if self.steps is None else {"num_inference_steps": self.steps}
        return {**self.small.arguments(), **steps, "output_type": "pt"}


def _compile_component(pipeline: Any, graphs: Graphs) -> None:
    pipeline.text_encoder = torch.compile(pipeline.text_encoder, backend=graphs)


def _compile_in_place(pipeline: Any, graphs: Graphs) -> None:
    pipeline.text_encoder.compile(backend=graphs)


def _compile_blocks(pipeline: Any, graphs: Graphs) -> None:
    pipeline.unet.compile_repeated_blocks(backend=graphs)


def _compile_method(pipeline: Any, graphs: Graphs) -> None:
    pipeline.vae.decode = torch.compile(pipeline.vae.decode, backend=graphs)


def _compile_inner_module(pipeline: Any, graphs: Graphs) -> None:
    pipeline.vae.decoder = torch.compile(pipeline.vae.decoder, backend=graphs)


def _compile_block(pipeline: Any, graphs: Graphs) -> None:
    pipeline.unet.down_blocks[0] = torch.compile(pipeline.unet.down_blocks[0], backend=graphs)


def _compile_forward(pipeline: Any, graphs: Graphs) -> None:
    pipeline.vae.decoder.forward = torch.compile(pipeline.vae.decoder.forward, backend=graphs)


def _compile_function(pipeline: Any, graphs: Graphs) -> None:
    """Code that no module shows as compiled: a function that a processor calls."""

    @torch.compile(backend=graphs)
    def double(x: torch.Tensor) -> torch.Tensor:
        return x + x

    pipeline.vae.post_quant_conv.register_forward_hook(lambda module, args, output: double(output))


COMPILED = {
    "torch.compile(module)": Preparation(_compile_component),
    "module.compile()": Preparation(_compile_in_place),
    "compile_repeated_blocks": Preparation(_compile_blocks),
    "a method": Preparation(_compile_method),
    "a module inside": Preparation(_compile_inner_module),
    "one block": Preparation(_compile_block),
    "forward of a module inside": Preparation(_compile_forward),
    "a function": Preparation(_compile_function),
}


def _skip_by_class(pipeline: Any, graphs: Graphs) -> None:
    """TeaCache's way: a new `forward` for the class, whose state is attributes of the class."""
    owner = type(pipeline.transformer)
    pipeline.transformer.__class__ = type(owner.__name__, (owner,), {"__module__": owner.__module__})
    cached = type(pipeline.transformer)
    cached.number, cached.previous, cached.residual = 0, None, None
    whole_forward = owner.forward

    def forward(self: Any, hidden_states: Any, **kwargs: Any) -> Any:
        changed = 1.0 if cached.previous is None else float((hidden_states - cached.previous).abs().mean())
        cached.number += 1
        cached.previous = self.x_embedder(hidden_states).new_tensor(0) + hidden_states
        if changed > 0.5 or cached.residual is None:
            output = whole_forward(self, hidden_states, **kwargs)
            cached.residual = output[0] - hidden_states
            return output
        return (hidden_states + cached.residual,)

    cached.forward = forward


def _skip_by_closure(pipeline: Any, graphs: Graphs) -> None:
    """Every second step takes what a variable of an enclosing function has kept."""
    transformer = pipeline.transformer
    whole_forward, kept, number = transformer.forward, None, 0

    def forward(*args: Any, **kwargs: Any) -> Any:
        nonlocal kept, number
        number += 1
        if number % 2 or kept is None:
            kept = whole_forward(*args, **kwargs)
        return kept

    transformer.forward = forward


BLOCKS: dict[str, Any] = {}


def _skip_by_global(pipeline: Any, graphs: Graphs) -> None:
    """A block that keeps its output in a dictionary of its module, as long as its input changes little."""
    BLOCKS.clear()
    block = pipeline.transformer.single_transformer_blocks[0]
    whole_forward = block.forward

    def forward(hidden_states: Any, *args: Any, **kwargs: Any) -> Any:
        before, output = BLOCKS.get("block", (None, None))
        if before is None or float((before - hidden_states).abs().max()) > 3.0:
            output = whole_forward(hidden_states, *args, **kwargs)
        BLOCKS["block"] = hidden_states, output
        return output

    block.forward = forward


FLUX = SMALL_PIPELINES["flux"]
FOREIGN_CACHES = {
    "state on the class": Preparation(_skip_by_class, FLUX, 4),
    "state in a closure": Preparation(_skip_by_closure, FLUX, 4),
    "state in a global": Preparation(_skip_by_global, FLUX, 4),
}


def _quanto(kind: str) -> Preparation:
    return Preparation(lambda pipeline, graphs: quantize_with_quanto(pipeline.transformer, kind), FLUX)


def _store_in_fp8(pipeline: Any, graphs: Graphs) -> None:
    pipeline.transformer.enable_layerwise_casting(storage_dtype=torch.float8_e4m3fn, compute_dtype=torch.float32)


QUANTIZED = {
    "quanto int8": _quanto("int8"),
    "quanto int4": _quanto("int4"),
    "quanto fp8": _quanto("fp8"),
    "GGUF Q8_0": Preparation(lambda pipeline, graphs: quantize_to_gguf(pipeline.transformer, "Q8_0"), FLUX),
    "layers stored in fp8": Preparation(_store_in_fp8, FLUX),
}


def _cache(name: str) -> Preparation:
    case = CASES[name]

    def enable(pipeline: Any, graphs: Graphs) -> None:
        pipeline.transformer.enable_cache(case.config(pipeline))

    return Preparation(enable, case.small, case.steps)


OWN_CACHES = {name: _cache(name) for name in ("first block, all fits", "taylor seer", "magnitudes")}


def _offload(name: str) -> Preparation:
    def enable(pipeline: Any, graphs: Graphs) -> None:
        OFFLOADS[name](pipeline, Path(tempfile.mkdtemp()))

    return Preparation(enable)


OFFLOADED = {name: _offload(name) for name in ("model", "sequential", "leaf_level", "block_level")}

PROJECTIONS = ["to_q", "to_k", "to_v", "to_out.0"]


def _add_lora(pipeline: Any, graphs: Graphs) -> None:
    from peft import LoraConfig

    pipeline.transformer.add_adapter(LoraConfig(r=4, target_modules=PROJECTIONS))


def _leave(pipeline: Any, graphs: Graphs) -> None:
    """Nothing is done to the pipeline itself."""


def _autocast() -> contextlib.AbstractContextManager[None]:
    return torch.autocast("cpu", torch.bfloat16)


ADAPTED = {"LoRA": Preparation(_add_lora, FLUX), "autocast": Preparation(_leave, FLUX, around=_autocast)}


def _spread(pipeline: Any, graphs: Graphs) -> None:
    """As with ``device_map``: hooks move the inputs of every component, though both devices are the CPU."""
    spread_components(pipeline, {"vae": "cpu"}, torch.device("cpu"))


SPREAD = {"device map": Preparation(_spread)}


class TracedUnet(torch.nn.Module):
    """Calls what `torch.jit.trace` has made of a UNet, and has those of its attributes that pipelines ask for."""

    def __init__(self, unet: Any, traced: torch.nn.Module) -> None:
        super().__init__()
        self.config, self.dtype, self.device, self.add_embedding = unet.config, unet.dtype, unet.device, None
        self.traced = traced

    def forward(self, sample: Any, timestep: Any, encoder_hidden_states: Any = None, **options: Any) -> Any:
        return (self.traced(sample, timestep, encoder_hidden_states),)


class UnetOfTensors(torch.nn.Module):
    """A UNet whose result is a tensor, as tracing wants it."""

    def __init__(self, unet: Any) -> None:
        super().__init__()
        self.unet = unet

    def forward(self, sample: Any, timestep: Any, states: Any) -> Any:
        return self.unet(sample, timestep, states, return_dict=False)[0]


def _trace(pipeline: Any, graphs: Graphs) -> None:
    unet, config = pipeline.unet, pipeline.unet.config
    inputs = torch.randn(2, config.in_channels, 8, 8), torch.tensor(5), torch.randn(2, 77, config.cross_attention_dim)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.unet = TracedUnet(unet, torch.jit.trace(UnetOfTensors(unet), inputs, check_trace=False))


TRACED = Preparation(_trace)

EVERY_WAY = {**QUANTIZED, **OWN_CACHES, **OFFLOADED, **ADAPTED, **SPREAD}
"""All but compiled ones and foreign caches, which have tests of their own."""
