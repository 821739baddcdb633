"""Which weights are on the device while a module runs, for each kind of offload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain

from diffprof.prediction.weights import ComponentWeights, ModuleWeights, tensor_sizes
from diffprof.record.profile import Component
from diffprof.record.run_settings import RunSettings

BLOCKS = ("ModuleList", "Sequential")
"""Classes whose children are the groups of block-level offload."""

VAE_PARTS = ("encoder", "decoder", "quant_conv", "post_quant_conv")
"""The parts of autoencoders in which diffusers searches for blocks."""


class Groups:
    """The groups of weights of one component that are moved together.

    `similar` are the groups of the same component with the same offload, but other storage of its weights; they have
    the same modules.
    """

    def __init__(
        self,
        component: Component,
        weights: ComponentWeights,
        settings: RunSettings,
        order: Sequence[str],
        similar: Groups | None = None,
    ) -> None:
        self.component = component
        self.weights = weights
        self.settings = settings
        self.order = order
        """Paths of modules in the order of execution."""
        self._known: dict[str, tuple[str, ...]] = {}
        self._known_leaves: dict[str, tuple[str, ...]] = {}
        self._known_blocks: dict[str, str] = {}
        self._distinct: dict[tuple[str, ...], tuple[str, ...]] = {}
        if similar is not None and similar.order == order:
            self._known, self._known_leaves = similar._known, similar._known_leaves
            self._known_blocks, self._distinct = similar._known_blocks, similar._distinct

    @cached_property
    def bytes(self) -> Mapping[str, tuple[int, ...]]:
        """The bytes of the modules of each group."""
        groups: dict[str, list[int]] = {}
        for module in self.weights.modules:
            groups.setdefault(self._group_of(module), []).append(module.stored_bytes)
        return {name: tuple(sizes) for name, sizes in groups.items()}

    @cached_property
    def tensors(self) -> Mapping[str, tuple[int, ...]]:
        """The bytes of the tensors of each group."""
        return {name: tuple(chain.from_iterable(map(tensor_sizes, sizes))) for name, sizes in self.bytes.items()}

    @cached_property
    def totals(self) -> Mapping[str, int]:
        """The total bytes of each group."""
        return {name: sum(sizes) for name, sizes in self.bytes.items()}

    def on_device(self, path: str) -> tuple[str, ...]:
        """The groups on the device while the module at this path runs; equal tuples are the same object."""
        known = self._known.get(path)
        if known is None:
            found = self._find(path)
            known = self._known[path] = self._distinct.setdefault(found, found)
        return known

    def _group_of(self, module: ModuleWeights) -> str:
        if self.settings.offload in ("sequential", "group-leaf"):
            return module.path
        return self._block_of(module.path)

    def _block_of(self, path: str) -> str:
        """The block of a module; ``""`` if it is in none."""
        known = self._known_blocks.get(path)
        if known is None:
            known = self._known_blocks[path] = self._find_block(path)
        return known

    def _find_block(self, path: str) -> str:
        parts = path.split(".")
        depth = 1 if parts[0] in VAE_PARTS and self.component.role == "vae" else 0
        if len(parts) <= depth + 1 or ".".join(parts[: depth + 1]) not in self._lists or not parts[depth + 1].isdigit():
            return ""
        # With a stream, diffusers always moves single blocks.
        together = 1 if self.settings.use_stream else self.settings.blocks_per_group
        number = int(parts[depth + 1]) // together
        return ".".join([*parts[: depth + 1], str(number)])

    @cached_property
    def _tied(self) -> Mapping[str, str]:
        """Embeddings that run with the weights of another one, which does not run itself: T5 has such a pair."""
        embeddings = [module.path for module in self.component.modules if module.class_name == "Embedding"]
        ran, own = set(self.order), {module.path for module in self.weights.modules}
        idle = [path for path in embeddings if path in own and path not in ran]
        return {path: idle[0] for path in embeddings if path in ran and path not in own} if len(idle) == 1 else {}

    @cached_property
    def _lists(self) -> frozenset[str]:
        return frozenset(module.path for module in self.component.modules if module.class_name in BLOCKS)

    def _find(self, path: str) -> tuple[str, ...]:
        if self.settings.offload in ("sequential", "group-leaf"):
            found = [*self._leaves_around(path)]
        else:
            found = [name for name in dict.fromkeys(("", self._block_of(path))) if name in self.bytes]
        if self.settings.use_stream and self.settings.offload.startswith("group") and found:
            following = self._next_group.get(found[-1])
            if following is not None and following not in found:
                found.append(following)
        return tuple(found)

    def _leaves_around(self, path: str) -> tuple[str, ...]:
        """The groups of a module and of its parents, the outermost first."""
        known = self._known_leaves.get(path)
        if known is None:
            outer = self._leaves_around(path.rpartition(".")[0]) if path else ()
            own = self._tied.get(path, path)
            known = self._known_leaves[path] = (*outer, own) if own in self.bytes else outer
        return known

    @cached_property
    def _next_group(self) -> Mapping[str, str]:
        """The group that is fetched while each group computes."""
        is_leaf = self.settings.offload == "group-leaf"
        groups = [self._tied.get(path, path) if is_leaf else self._block_of(path) for path in self.order]
        ran = list(dict.fromkeys(group for group in groups if group in self.bytes and (group or is_leaf)))
        return dict(zip(["", *ran] if not is_leaf else ran, ran if not is_leaf else ran[1:], strict=False))
