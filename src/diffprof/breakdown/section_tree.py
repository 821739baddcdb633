"""The sections of a measured run as a tree of nested sections with their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.breakdown.clocks import Clock, clock_of
from diffprof.record.measured import Iteration, Sample


@dataclass(frozen=True)
class SectionNode:
    """All samples with the same path of nested sections, over all iterations."""

    path: tuple[str, ...]
    """The names of the enclosing sections and its own, the outermost first."""
    component: str | None
    count: int
    total_ns: int
    """Total time, including nested sections."""


def section_tree(iterations: Sequence[Iteration], clock: Clock | None = None) -> list[SectionNode]:
    """The nodes of the tree, parents before children, ordered by first execution."""
    read = clock or clock_of(iterations)
    nodes: dict[tuple[str, ...], SectionNode] = {}
    for iteration in iterations:
        paths: list[tuple[str, ...]] = []
        for sample in iteration.samples:
            path = (*(paths[sample.parent] if sample.parent is not None else ()), sample.section)
            paths.append(path)
            nodes[path] = _add_sample(nodes.get(path), path, sample, read)
    return list(nodes.values())


def _add_sample(known: SectionNode | None, path: tuple[str, ...], sample: Sample, clock: Clock) -> SectionNode:
    length = clock.length_ns(sample.span)
    if known is None:
        return SectionNode(path, sample.component, 1, length)
    return SectionNode(path, known.component, known.count + 1, known.total_ns + length)
