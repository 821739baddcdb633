"""The ways in which people prepare a pipeline before they call it, each on a small pipeline: the rows of docs/runtime.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tests.small_pipelines import SMALL_PIPELINES, SmallPipeline

Prepare = Callable[[Any], None]


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

    def build(self, graphs: Graphs | None = None) -> Any:
        pipeline = self.small.build()
        self.prepare(pipeline, graphs or Graphs())
        return pipeline

    def call(self, pipeline: Any) -> torch.Tensor:
        output: torch.Tensor = pipeline(**self.arguments()).images
        return output

    def arguments(self) -> dict[str, Any]:
        return {**self.small.arguments(), "output_type": "pt"}


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
