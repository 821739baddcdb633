"""Record the allocations of a dry run: how many bytes, in which order, by which module."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable
from typing import Any

import torch


class AllocationLog:
    """The events of one component call, or of the pipeline's own code between calls."""

    def __init__(self) -> None:
        self.raw: list[Any] = []
        """Events: (bytes, path of the module) for an allocation, its number for a release, (operation, whether it was
        masked) for a possible workspace, None for a component call."""
        self.count = 0
        """Allocations so far."""

    def allocate(self, size: int, owner: str) -> int:
        self.raw.append((size, owner))
        self.count += 1
        return self.count - 1


class LiveBytes:
    """The bytes of live tensor storage, their peak since `start_peak`, and a log of allocations and releases."""

    def __init__(self) -> None:
        self.now = 0
        self.peak = 0
        self.log = AllocationLog()
        """The log for the next events."""
        self.owner = ""
        """The path of the module that allocates now."""
        self._references: dict[int, LiveStorage] = {}

    def start_peak(self) -> int:
        """Start a new peak; return the bytes that are live now."""
        self.peak = self.now
        return self.now

    def add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        if not size:
            return
        reference = LiveStorage(storage, self._remove)
        reference.size = size
        reference.log = log = self.log
        reference.number = log.count
        log.raw.append((size, self.owner))
        log.count += 1
        self._references[id(reference)] = reference
        self.now += size
        if self.now > self.peak:
            self.peak = self.now

    def holds_virtual(self) -> bool:
        """Whether a virtual tensor is still alive."""
        alive = [reference() for reference in self._references.values()]
        return any(storage is not None and storage.device.type == "meta" for storage in alive)

    def numbers_since(self, log: AllocationLog, first: int) -> dict[int, int]:
        """Return the numbers of the live storages that `log` has counted since `first`, by address."""
        found = {}
        for reference in self._references.values():
            if reference.log is log and reference.number >= first:
                storage = reference()
                if storage is not None:
                    found[storage._cdata] = reference.number - first
        return found

    def references_to(self, storages: Collection[int]) -> dict[int, LiveStorage]:
        """Return what is known of these live storages, by address."""
        found = {}
        for reference in self._references.values():
            storage = reference()
            if storage is not None and storage._cdata in storages:
                found[storage._cdata] = reference
        return found

    def replay(self, entries: Iterable[Any], allocations: int, peak: int) -> None:
        """Repeat earlier events: this many `allocations`, with at most `peak` bytes at once."""
        self.log.raw.extend(entries)
        self.log.count += allocations
        self.peak = max(self.peak, self.now + peak)

    def keep(self, storage: Any, number: int) -> None:
        """Give the storage a number of the log."""
        reference = LiveStorage(storage, self._remove)
        reference.size, reference.log, reference.number = storage.nbytes(), self.log, number
        self._references[id(reference)] = reference
        self.now += reference.size

    def add_result(self, result: Any) -> None:
        """Add the output of a real operation: one tensor, several, or none."""
        if isinstance(result, torch.Tensor):
            self.add(result)
        elif isinstance(result, (list, tuple)):
            for part in result:
                self.add_result(part)

    def hand_over(self, log: AllocationLog | None, outputs: list[tuple[torch.Tensor, torch.Tensor]]) -> int:
        """End a component call: move the live allocations of its `log` to the current log; return their bytes.

        `outputs` are pairs of a tensor and the copy that the pipeline gets; the copies stay alive.
        """
        left_behind = 0
        groups: dict[int, list[torch.Tensor]] = {}
        sizes: dict[int, int] = {}
        for output, copy in outputs:
            storage = output.untyped_storage()
            if storage.nbytes():
                sizes[storage._cdata] = storage.nbytes()
                groups.setdefault(storage._cdata, []).append(copy)
        for reference in self._references.values() if log is not None else ():
            alive = reference()
            if reference.log is not log or alive is None:
                continue
            if alive._cdata in groups:
                reference.log = None
            else:
                reference.log, reference.number = self.log, self.log.allocate(reference.size, "")
                left_behind += 1
        for key, copies in groups.items():
            _SharedStorage(self.log, sizes[key], copies)
        return left_behind

    def _remove(self, reference: weakref.ref[Any]) -> None:
        gone = self._references.pop(id(reference))
        self.now -= gone.size
        if gone.log is not None:
            gone.log.raw.append(gone.number)


class LiveStorage(weakref.ref):  # type: ignore[type-arg]
    """A storage that is alive, the log that has its allocation, and the number that it has there."""

    __slots__ = ("log", "number", "size")
    size: int
    log: AllocationLog | None
    number: int


class _SharedStorage:
    """A storage that several tensors share; it is released with the last of them."""

    def __init__(self, log: AllocationLog, size: int, copies: list[torch.Tensor]) -> None:
        self.log = log
        self.number = log.allocate(size, "")
        self.alive = len(copies)
        for copy in copies:
            # Not a weak reference, so that this object lives exactly as long as the storage.
            weakref.finalize(copy.untyped_storage(), self._remove).atexit = False

    def _remove(self) -> None:
        self.alive -= 1
        if not self.alive:
            self.log.raw.append(self.number)
