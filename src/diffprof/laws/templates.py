"""Merge values of the same form into one template: their common parts, and the numbers that differ.

Values consist of dictionaries, tuples, strings, numbers and None. Equal parts of a template are stored once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from diffprof.errors import DiffprofError


class DifferentForms(DiffprofError):
    """The values have different forms, because the pipeline executed different operations."""


CONSTANT, NUMBER, TEXT, TUPLE, DICTIONARY = "c", "n", "t", "l", "d"
_DIGITS = re.compile(r"(\d+)")


class TemplateBuilder:
    """Merges values into nodes; a number that differs is identified by its values in all samples."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[Any, ...], int] = {}
        self.node_list: list[tuple[Any, ...]] = []
        self.vectors: dict[tuple[int, ...], int] = {}
        self.paths: list[str] = []
        """The path where each vector was first seen."""
        self._merged: dict[tuple[int, ...], int] = {}
        """Nodes by the `id`s of their values, because samples share many parts."""
        self._parts_of_texts: list[Any] = []
        """Kept alive, so that their `id`s are not reused."""

    def merge(self, values: Sequence[Any], path: str = "") -> int:
        """Return the number of the node for all these values, which must live as long as the builder."""
        key = tuple(map(id, values))
        node = self._merged.get(key)
        if node is None:
            node = self._merged[key] = self._merge(values, path)
        return node

    def _merge(self, values: Sequence[Any], path: str) -> int:
        first = values[0]
        if isinstance(first, dict):
            return self._merge_dictionaries(values, path)
        if isinstance(first, tuple):
            if len(values) > 1 and all(value == first for value in values[1:]):
                return self.merge((first,), path)
            if any(not isinstance(value, tuple) or len(value) != len(first) for value in values):
                lengths = [len(value) if isinstance(value, tuple) else value for value in values]
                raise DifferentForms(f"{path}: lengths {lengths}")
            children = [self.merge(parts, f"{path}.{i}") for i, parts in enumerate(zip(*values, strict=True))]
            return self._node((TUPLE, tuple(children)))
        if all(value == first and type(value) is type(first) for value in values):
            # With its type, because 1, 1.0 and True are equal.
            return self._node((CONSTANT, first, type(first).__name__))
        return self._merge_scalars(values, path)

    def _merge_scalars(self, values: Sequence[Any], path: str) -> int:
        if all(type(value) is int for value in values):
            number = self.vectors.setdefault(tuple(values), len(self.vectors))
            if number == len(self.paths):
                self.paths.append(path)
            return self._node((NUMBER, number))
        if all(type(value) is str for value in values):
            # A sentence or a size with different numbers.
            parts = [tuple(int(part) if part.isdigit() else part for part in _DIGITS.split(text)) for text in values]
            if any("".join(map(str, part)) != text for part, text in zip(parts, values, strict=True)):
                raise DifferentForms(f"{path}: {values[0]!r}")
            self._parts_of_texts.append(parts)
            _, children = self.node_list[self._merge(parts, path)]
            return self._node((TEXT, children))
        different = [value for value in values if value != values[0]]
        raise DifferentForms(f"{path}: {values[0]!r} and {different[:1]!r}")

    def _merge_dictionaries(self, values: Sequence[Any], path: str) -> int:
        keys = tuple(values[0])
        if any(not isinstance(value, dict) or tuple(value) != keys for value in values):
            raise DifferentForms(f"{path}: other keys than {keys}")
        children = [self.merge([value[key] for value in values], f"{path}.{key}") for key in keys]
        return self._node((DICTIONARY, keys, tuple(children)))

    def _node(self, node: tuple[Any, ...]) -> int:
        number = self.nodes.setdefault(node, len(self.nodes))
        if number == len(self.node_list):
            self.node_list.append(node)
        return number


@dataclass(frozen=True)
class Template:
    """The nodes of merged values; parts come before the nodes that contain them, and constant nodes come first."""

    nodes: Sequence[Sequence[Any]]
    constants: int
    """The number of nodes without differing numbers."""
    known: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)
    """Values of constant nodes."""
    made: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)
    """Objects that were created from a node, for all programs that share it."""
    results: dict[int, tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)
    """Results for constant values, by `id`; the values are kept, so that no other gets the same."""

    def numbers_below(self, nodes: Iterable[int]) -> set[int]:
        """Return the numbers that occur in these nodes and their parts."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node < self.constants or node in seen:
                continue
            seen.add(node)
            kind, *_, value = self.nodes[node]
            if kind == NUMBER:
                found.add(value)
            elif kind != CONSTANT:
                waiting += value
        return found

    def fill(self, number: int, numbers: Any, known: dict[int, Any]) -> Any:
        """Return the value of a node with these numbers; `known` values are reused."""
        if number < self.constants:
            known = self.known
        if number in known:
            return known[number]
        node = self.nodes[number]
        kind = node[0]
        value: Any
        if kind == CONSTANT:
            value = node[1]
        elif kind == NUMBER:
            value = numbers[node[1]]
        elif kind == TUPLE:
            value = tuple([self.fill(child, numbers, known) for child in node[1]])
        elif kind == TEXT:
            value = "".join([str(self.fill(child, numbers, known)) for child in node[1]])
        else:
            value = {key: self.fill(child, numbers, known) for key, child in zip(node[1], node[2], strict=True)}
        known[number] = value
        return value


class TemplateMerger:
    """Merges the nodes of several builders, with the numbers of polynomials instead of those of vectors."""

    def __init__(self) -> None:
        self._constant: dict[tuple[Any, ...], int] = {}
        self._variable: dict[tuple[Any, ...], int] = {}

    def add(self, nodes: Sequence[tuple[Any, ...]], polynomials: Sequence[int]) -> list[tuple[bool, int]]:
        """Return for each node whether it is constant, and its number among those."""
        places: list[tuple[bool, int]] = []
        for node in nodes:
            children = node[-1] if node[0] in (TUPLE, TEXT, DICTIONARY) else ()
            if node[0] == NUMBER:
                node = (NUMBER, polynomials[node[1]])
            elif children:
                node = (*node[:-1], tuple(places[child] for child in children))
            is_constant = node[0] != NUMBER and all(places[child][0] for child in children)
            known = self._constant if is_constant else self._variable
            places.append((is_constant, known.setdefault(node, len(known))))
        return places

    def template(self) -> Template:
        ends = len(self._constant)
        nodes = [_renumber(node, ends) for node in (*self._constant, *self._variable)]
        return Template(nodes, ends)

    def number(self, place: tuple[bool, int]) -> int:
        """Return the number of a node in the final template."""
        return place[1] if place[0] else len(self._constant) + place[1]


def _renumber(node: tuple[Any, ...], ends: int) -> tuple[Any, ...]:
    if node[0] == CONSTANT:
        return (CONSTANT, node[1])
    if node[0] == NUMBER:
        return node
    return (*node[:-1], tuple(number if is_constant else ends + number for is_constant, number in node[-1]))
