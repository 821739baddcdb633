"""The tools that are compared. Each is imported only in the process that runs it."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.crosscheck.result import DIFFPROF

CAPTURE = "capture"
"""The name of the process that records the call; not a tool."""


@dataclass(frozen=True)
class Tool:
    """A tool: the package it needs, and whether it computes with real weights."""

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
