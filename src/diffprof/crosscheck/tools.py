"""The names of the tools that are compared. Each tool is imported only in the process that runs it."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.crosscheck.result import DIFFPROF

CAPTURE = "capture"
"""Not a tool: the process that finds out how the pipeline calls the component."""


@dataclass(frozen=True)
class Tool:
    """A way of counting: the package it needs, and whether it computes with real weights."""

    name: str
    title: str
    package: str
    real: bool


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(DIFFPROF, "diffprof", "diffprof", real=False),
        Tool("thop-sdpa", "thop with a patch for attention", "thop", real=True),
        Tool("thop", "thop", "thop", real=True),
        Tool("calflops", "calflops", "calflops", real=True),
        Tool("fvcore", "fvcore", "fvcore", real=True),
        Tool("torch-meta", "torch FlopCounterMode, meta", "torch", real=False),
        Tool("torch-cpu", "torch FlopCounterMode, CPU", "torch", real=True),
    )
}
