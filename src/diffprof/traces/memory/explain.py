"""What a memory snapshot says: the peak, what was alive at it and whose it was, fragmentation, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.errors import FileFormatError, FileProblem
from diffprof.traces.memory.plain_pickle import read_plain_pickle

ALLOCATED, FREED, FAILED = "alloc", "free_completed", "oom"
UNKNOWN_OWNER = "not recorded"
LARGEST_BYTES = 2**50
MOST_DEVICES = 1024
OWNERS = (
    ("/diffusers/models/autoencoders/", "vae"),
    ("/diffusers/models/controlnets/", "controlnet"),
    ("/diffusers/models/unets/", "denoiser"),
    ("/diffusers/models/transformers/", "denoiser"),
    ("/transformers/models/", "text or image encoder"),
    ("/diffusers/schedulers/", "scheduler"),
    ("/diffusers/pipelines/", "pipeline"),
)
"""Part of a file's path -> what its code belongs to; the first that fits the outermost frame."""


@dataclass(frozen=True)
class MemoryShare:
    """Memory that one owner or one line of code held at the peak."""

    name: str
    held_bytes: int
    allocations: int


@dataclass(frozen=True)
class FailedAllocation:
    """An allocation that failed."""

    requested_bytes: int
    free_bytes: int | None
    """What the driver had left at that moment."""
    line: str
    """The line of code that asked for it."""


@dataclass(frozen=True)
class DeviceSnapshot:
    """One device."""

    device: int
    peak_bytes: int
    """The most that was allocated at one time."""
    has_history: bool
    """Whether allocations were recorded; otherwise the peak is what is allocated at the end."""
    owners: tuple[MemoryShare, ...]
    """At the peak, the largest first."""
    lines: tuple[MemoryShare, ...]
    """The same by the innermost line of code outside of torch."""
    allocated_bytes: int
    """At the end."""
    reserved_bytes: int
    largest_free_bytes: int
    """The largest block that is reserved and free."""
    failures: tuple[FailedAllocation, ...]

    @property
    def unused_bytes(self) -> int:
        """Reserved and not allocated at the end."""
        return self.reserved_bytes - self.allocated_bytes


def explain_snapshot(path: Path) -> tuple[DeviceSnapshot, ...]:
    """Explain a file that ``torch.cuda.memory._dump_snapshot`` or ``diffprof run --memory-snapshot`` has written."""
    content = read_plain_pickle(path)
    try:
        segments, traces = content["segments"], content["device_traces"]
        devices = sorted({segment["device"] for segment in segments} | {n for n, trace in enumerate(traces) if trace})
        if not all(type(device) is int and 0 <= device < MOST_DEVICES for device in devices):
            raise ValueError("a device has no number")
        return tuple(
            _device(
                device,
                [segment for segment in segments if segment["device"] == device],
                traces[device] if device < len(traces) else [],
            )
            for device in devices
        )
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
        raise FileFormatError(
            f"{path} is no memory snapshot of torch; torch.cuda.memory._dump_snapshot writes one.", FileProblem.damaged
        ) from error


@dataclass(frozen=True)
class _Block:
    size: int
    frames: Sequence[Mapping[str, Any]]


def _device(device: int, segments: Sequence[Mapping[str, Any]], trace: Sequence[Mapping[str, Any]]) -> DeviceSnapshot:
    blocks = [block for segment in segments for block in segment["blocks"]]
    at_end = {
        int(block.get("address", number)): _Block(_size(block["size"]), block.get("frames") or ())
        for number, block in enumerate(blocks)
        if str(block["state"]).startswith("active")
    }
    free = [_size(block["size"]) for block in blocks if block["state"] == "inactive"]
    peak_bytes, at_peak = _peak(at_end, trace)
    return DeviceSnapshot(
        device=device,
        peak_bytes=peak_bytes,
        has_history=bool(trace),
        owners=_shares(at_peak, _owner),
        lines=_shares(at_peak, _line),
        allocated_bytes=sum(block.size for block in at_end.values()),
        reserved_bytes=sum(_size(segment["total_size"]) for segment in segments),
        largest_free_bytes=max(free, default=0),
        failures=tuple(
            FailedAllocation(_size(event["size"]), _free(event), _line(event.get("frames") or ()))
            for event in trace
            if event["action"] == FAILED
        ),
    )


def _size(value: Any) -> int:
    """A number of bytes; a snapshot with another one is damaged."""
    if type(value) is not int or not 0 <= value <= LARGEST_BYTES:
        raise ValueError("not a number of bytes")
    return value


def _free(event: Mapping[str, Any]) -> int | None:
    left = event.get("device_free")
    return None if left is None else _size(left)


def _peak(at_end: Mapping[int, _Block], trace: Sequence[Mapping[str, Any]]) -> tuple[int, list[_Block]]:
    """The most bytes at one time, and the blocks of that moment: the trace is walked from its end to its beginning."""
    frames = _frames_of_freed(trace)
    alive = dict(at_end)
    now = peak = sum(block.size for block in alive.values())
    moment = len(trace)
    for number in range(len(trace) - 1, -1, -1):
        now += _undo(alive, trace[number], frames.get(number, ()))
        if now > peak:
            peak, moment = now, number
    alive = dict(at_end)
    for number in range(len(trace) - 1, moment - 1, -1):
        _undo(alive, trace[number], frames.get(number, ()))
    return peak, list(alive.values())


def _frames_of_freed(trace: Sequence[Mapping[str, Any]]) -> dict[int, Any]:
    """Number of an event that frees memory -> the frames of the one that allocated it."""
    allocated: dict[Any, Any] = {}
    frames = {}
    for number, event in enumerate(trace):
        if event["action"] == ALLOCATED:
            allocated[event["addr"]] = event.get("frames") or ()
        elif event["action"] == FREED:
            frames[number] = allocated.pop(event["addr"], ())
    return frames


def _undo(alive: dict[int, _Block], event: Mapping[str, Any], frames: Sequence[Mapping[str, Any]]) -> int:
    """Take an event back: by how much that changes what is allocated."""
    address, size = event.get("addr"), _size(event.get("size", 0))
    if event["action"] == ALLOCATED and address in alive:
        return -alive.pop(address).size
    if event["action"] == FREED and address is not None and address not in alive:
        alive[address] = _Block(size, frames)
        return size
    return 0


def _shares(blocks: Sequence[_Block], name: Any) -> tuple[MemoryShare, ...]:
    held: dict[str, list[int]] = {}
    for block in blocks:
        held.setdefault(name(block.frames), []).append(block.size)
    shares = [MemoryShare(owner, sum(sizes), len(sizes)) for owner, sizes in held.items()]
    return tuple(sorted(shares, key=lambda share: (-share.held_bytes, share.name)))


def _owner(frames: Sequence[Mapping[str, Any]]) -> str:
    """The kind of component whose code is outermost; frames come with the innermost first."""
    for part, owner in OWNERS[:-1]:
        if any(part in _file(frame) for frame in frames):
            return owner
    if any(OWNERS[-1][0] in _file(frame) for frame in frames):
        return OWNERS[-1][1]
    return "other code" if frames else UNKNOWN_OWNER


def _line(frames: Sequence[Mapping[str, Any]]) -> str:
    for frame in frames:
        file = _file(frame)
        if file.endswith(".py") and "/torch/" not in file:
            return f"{'/'.join(file.split('/')[-3:])}:{frame.get('line')} {frame.get('name')}"
    return UNKNOWN_OWNER


def _file(frame: Mapping[str, Any]) -> str:
    return str(frame.get("filename", "")).replace("\\", "/")
