"""The record of one small pipeline: what it is made of and how to call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline

Arguments = dict[str, Any]
Components = dict[str, Any]


@dataclass(frozen=True)
class SmallPipeline:
    """A diffusers pipeline so small that a real run on the CPU takes about a second.

    `class_name` is the pipeline's class in diffusers and `components` makes what its constructor
    takes. `arguments` gives the keyword arguments of one short call. `extend` adds to a constructed
    pipeline what a constructor cannot, such as an adapter. All make fresh objects each time.
    """

    name: str
    family: str
    class_name: str
    components: Callable[[], Components]
    arguments: Callable[[], Arguments]
    extend: Callable[[DiffusionPipeline], None] | None = None

    def build(self) -> DiffusionPipeline:
        """Make the pipeline with seeded random weights, ready to run in float32 on the CPU."""
        import diffusers
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            pipeline = getattr(diffusers, self.class_name)(**self.components())
            if self.extend:
                self.extend(pipeline)
        for component in pipeline.components.values():
            if isinstance(component, torch.nn.Module):
                component.eval()
        pipeline.set_progress_bar_config(disable=True)
        return pipeline
