"""The module tree of each component; the numbers of a module include its children."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter

from diffprof.breakdown.shares import share
from diffprof.record.profile import NO_WORK, Component, Profile, Work


@dataclass(frozen=True)
class ModuleRow:
    """One module with its children, or several equal siblings that are folded into one row."""

    component: str
    path: str
    """Path within the component; ``""`` is the component itself. Folded siblings: ``blocks.0-18``."""
    class_name: str
    depth: int
    calls: int
    parameters: int
    macs: int
    other_flops: int
    read_bytes: int
    written_bytes: int
    share: float
    """Share of the generation's MACs."""
    repeats: int = 1
    """The number of equal siblings in this row; its numbers are their sums."""


_FIGURES = attrgetter(
    "class_name", "depth", "calls", "parameters", "macs", "other_flops", "read_bytes", "written_bytes", "repeats"
)


def module_table(profile: Profile, depth: int, fold: bool = True) -> list[ModuleRow]:
    """The trees of all components, parents before children, down to `depth` (0: the components themselves).

    With `fold`, neighbours such as ``blocks.0`` to ``blocks.18`` that are equal down to `depth` share a row.
    """
    rows: list[ModuleRow] = []
    for slot, component in profile.components.items():
        root = _tree(profile, slot, component)
        rows += _rows(root, slot, depth, fold, profile.total.macs)
    return rows


@dataclass
class _Node:
    path: str
    class_name: str = ""
    calls: int = 0
    parameters: int = 0
    work: Work = NO_WORK
    children: dict[str, _Node] = field(default_factory=dict)

    def child(self, name: str) -> _Node:
        node = self.children.get(name)
        if node is None:
            node = self.children[name] = _Node(f"{self.path}.{name}" if self.path else name)
        return node

    def at(self, path: str) -> _Node:
        node = self
        for name in path.split(".") if path else ():
            node = node.child(name)
        return node

    def cumulate(self) -> None:
        """Add the numbers of all descendants to each node."""
        for child in self.children.values():
            child.cumulate()
            self.parameters += child.parameters
            self.work += child.work


def _tree(profile: Profile, slot: str, component: Component) -> _Node:
    root = _Node("", component.class_name)
    for module in component.modules:
        node = root.at(module.path)
        node.class_name, node.parameters = module.class_name, module.parameters
    for call, times in profile.costs():
        if call.component != slot:
            continue
        for part in call.cost.modules:
            node = root.at(part.path)
            node.class_name = node.class_name or part.class_name
            node.calls += part.calls * times
            node.work += part.work * times
    root.cumulate()
    # The root keeps the component's own numbers: shared weights count once, and some costs have no module tree.
    root.calls, root.parameters, root.work = component.calls, component.parameters, component.work
    return root


def _rows(node: _Node, slot: str, depth: int, fold: bool, whole: int, level: int = 0) -> list[ModuleRow]:
    """The rows of a node and of its descendants, down to `depth`."""
    row = ModuleRow(
        component=slot,
        path=node.path,
        class_name=node.class_name,
        depth=level,
        calls=node.calls,
        parameters=node.parameters,
        macs=node.work.macs,
        other_flops=node.work.other_flops,
        read_bytes=node.work.read_bytes,
        written_bytes=node.work.written_bytes,
        share=share(node.work.macs, whole),
    )
    if level >= depth:
        return [row]
    branches = [_rows(child, slot, depth, fold, whole, level + 1) for child in node.children.values()]
    if fold:
        branches = _fold(branches)
    return [row, *(below for branch in branches for below in branch)]


def _fold(branches: list[list[ModuleRow]]) -> list[list[ModuleRow]]:
    """Merge neighbouring branches that differ only in their index."""
    groups: list[list[list[ModuleRow]]] = []
    for branch in branches:
        if groups and _is_repeated(groups[-1][0], branch):
            groups[-1].append(branch)
        else:
            groups.append([branch])
    return [_merge(group) for group in groups]


def _is_repeated(branch: list[ModuleRow], other: list[ModuleRow]) -> bool:
    """Whether two branches differ only in the index of their roots."""
    root, other_root = branch[0].path, other[0].path
    if len(branch) != len(other) or _number(root) is None or _number(other_root) is None:
        return False
    return all(
        _FIGURES(one) == _FIGURES(two) and one.path[len(root) :] == two.path[len(other_root) :]
        for one, two in zip(branch, other, strict=True)
    )


def _number(path: str) -> int | None:
    last = path.rpartition(".")[2]
    return int(last) if last.isdecimal() else None


def _merge(group: list[list[ModuleRow]]) -> list[ModuleRow]:
    first, last = group[0], group[-1]
    times = len(group)
    if times == 1:
        return first
    root = first[0].path
    name = f"{root}-{_number(last[0].path)}"
    return [
        replace(
            row,
            path=name + row.path[len(root) :],
            calls=row.calls * times,
            parameters=row.parameters * times,
            macs=row.macs * times,
            other_flops=row.other_flops * times,
            read_bytes=row.read_bytes * times,
            written_bytes=row.written_bytes * times,
            share=row.share * times,
            repeats=row.repeats * times,
        )
        for row in first
    ]
