"""Explain a memory snapshot: the peak and its owners, fragmentation, and failed allocations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from reprlib import Repr
from typing import Any

from diffprof.errors import FileFormatError, FileProblem
from diffprof.traces.memory.plain_pickle import read_plain_pickle

ALLOCATED, FREED, FAILED = "alloc", "free_completed", "oom"
UNKNOWN_OWNER = "not recorded"
WEIGHTS_KEY = "diffprof_weights"
"""The key under which `diffprof run` adds the path of each weight, by address, to a snapshot."""
BEFORE_FAILURE = 5
"""How many allocations before a failed one are listed."""
MAX_FAILURES = 20
"""Only the latest failures are listed, because a program may retry many times."""
DEEPEST_STACK = 6
LONGEST_LABEL = 200
LARGEST_BYTES = 2**50
MAX_DEVICES = 1024
MAX_BLOCKS = 20_000_000
"""A small pickle can refer to one list of blocks many times, so the number of blocks is limited."""
DEEPEST_FRAME = 1000
OWNERS = (
    ("/diffusers/models/autoencoders/", "vae"),
    ("/diffusers/models/controlnets/", "controlnet"),
    ("/diffusers/models/unets/", "denoiser"),
    ("/diffusers/models/transformers/", "denoiser"),
    ("/transformers/models/", "text or image encoder"),
    ("/diffusers/schedulers/", "scheduler"),
    ("/diffusers/pipelines/", "pipeline"),
)
"""The owner of memory by a part of the file's path; the first match of the outermost frame counts."""


@dataclass(frozen=True)
class MemoryShare:
    """The memory of one owner or one line of code at the peak."""

    name: str
    held_bytes: int
    allocations: int


@dataclass(frozen=True)
class FailedAllocation:
    """An allocation that failed."""

    requested_bytes: int
    free_bytes: int | None
    """Free memory of the driver at that moment."""
    line: str
    """The line of code that requested it."""
    module: str
    """The module that requested it."""
    allocated_bytes: int
    """Allocated memory at that moment."""
    before: tuple[MemoryShare, ...]
    """The last allocations before it, by line of code, the latest first."""


@dataclass(frozen=True)
class DeviceSnapshot:
    """The memory of one device."""

    device: int
    peak_bytes: int
    """Peak allocated memory."""
    has_history: bool
    """Whether allocations were recorded; otherwise the peak is what is allocated at the end."""
    owners: tuple[MemoryShare, ...]
    """Memory at the peak by owner, the largest first."""
    modules: tuple[MemoryShare, ...]
    """Memory at the peak by module: its path if `diffprof run` took the snapshot, else its function."""
    lines: tuple[MemoryShare, ...]
    """Memory at the peak by the innermost line of code outside of torch."""
    stacks: tuple[MemoryShare, ...]
    """Memory at the peak by several such lines, the innermost first."""
    allocated_bytes: int
    """Allocated memory at the end."""
    reserved_bytes: int
    largest_free_bytes: int
    """The largest block that is reserved and free."""
    failures: tuple[FailedAllocation, ...]

    @property
    def unused_bytes(self) -> int:
        """Memory that is reserved but not allocated at the end."""
        return self.reserved_bytes - self.allocated_bytes


def explain_snapshot(path: Path) -> tuple[DeviceSnapshot, ...]:
    """Explain a file that ``torch.cuda.memory._dump_snapshot`` or ``diffprof run --memory-snapshot`` has written."""
    content = read_plain_pickle(path)
    try:
        if type(content) is list:  # of torch.cuda.memory_snapshot()
            content = {"segments": content}
        segments, traces = content["segments"], content.get("device_traces") or []
        weights = content.get(WEIGHTS_KEY) or {}
        if type(weights) is not dict:
            raise ValueError("weights have no addresses")
        if sum(len(segment["blocks"]) for segment in segments) > MAX_BLOCKS:
            raise ValueError("more blocks than there can be")
        numbers = [segment["device"] for segment in segments] + [n for n, trace in enumerate(traces) if trace]
        if not all(type(number) is int and 0 <= number < MAX_DEVICES for number in numbers):
            raise ValueError("a device has no number")
        devices = sorted(set(numbers))
        return tuple(
            _device(
                device,
                [segment for segment in segments if segment["device"] == device],
                traces[device] if device < len(traces) else [],
                weights,
            )
            for device in devices
        )
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
        raise FileFormatError(
            f"{path} is not a memory snapshot of torch; torch.cuda.memory._dump_snapshot writes one.",
            FileProblem.damaged,
        ) from error


@dataclass(frozen=True)
class _Block:
    size: int
    frames: Sequence[Mapping[str, Any]]
    module: str | None = None
    """Its label or, for a weight, its path."""


def _device(
    device: int,
    segments: Sequence[Mapping[str, Any]],
    trace: Sequence[Mapping[str, Any]],
    weights: Mapping[int, str],
) -> DeviceSnapshot:
    made = _allocations(trace, weights)
    at_end, free = _blocks(segments, trace, made, weights)
    peak_bytes, at_peak = _peak(at_end, trace, made)
    return DeviceSnapshot(
        device=device,
        peak_bytes=peak_bytes,
        has_history=bool(trace),
        owners=_shares(at_peak, _owner),
        modules=_shares(at_peak, _module),
        lines=_shares(at_peak, lambda block: _line(block.frames)),
        stacks=_shares(at_peak, _stack),
        allocated_bytes=sum(block.size for block in at_end.values()),
        reserved_bytes=sum(_size(segment["total_size"]) for segment in segments),
        largest_free_bytes=max(free, default=0),
        failures=tuple(_failures(at_end, trace, made)),
    )


def _blocks(
    segments: Sequence[Mapping[str, Any]],
    trace: Sequence[Mapping[str, Any]],
    made: Mapping[int, _Block],
    weights: Mapping[int, str],
) -> tuple[dict[int, _Block], list[int]]:
    """The allocated blocks at the end by address, and the sizes of free blocks."""
    last = {_address(event): made[number] for number, event in enumerate(trace) if event["action"] == ALLOCATED}
    active, free = {}, []
    for segment in segments:
        address = _address(segment, "address", 0)
        for block in segment["blocks"]:
            size = _size(block["size"])
            # Before torch 2.1, blocks have no address; they follow each other.
            address = _address(block, "address", address)
            if block["state"].startswith("active"):
                known = last.get(address)
                module = known.module if known is not None else _label(weights.get(address))
                active[address] = _Block(size, _frames(block), module)
            elif block["state"] == "inactive":
                free.append(size)
            address += size
    return active, free


def _frames(block: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The stack of an allocation; before torch 2.1, it is in the history of the block."""
    history = block.get("history") or [{}]
    frames: Sequence[Mapping[str, Any]] = block.get("frames") or history[0].get("frames") or ()
    return frames


def _allocations(trace: Sequence[Mapping[str, Any]], weights: Mapping[int, str]) -> dict[int, _Block]:
    """The allocated block of each event that allocates or frees memory, by the index of the event."""
    alive: dict[Any, _Block] = {}
    made = {}
    for number, event in enumerate(trace):
        if event["action"] == ALLOCATED:
            address = _address(event)
            label = _label(event.get("user_metadata") or weights.get(address))
            frames = event.get("frames") or ()
            alive[address] = made[number] = _Block(_size(event["size"]), frames, label)
        elif event["action"] == FREED:
            address = _address(event)
            freed = alive.pop(address, None)
            made[number] = freed or _Block(_size(event["size"]), (), _label(weights.get(address)))
    return made


def _label(value: Any) -> str | None:
    """The label that a program attached to an allocation, on one line."""
    return " ".join(_text(value).split())[:LONGEST_LABEL] if value else None


def _text(value: Any) -> str:
    """The value as text, limited in length, because nested containers can refer to each other endlessly."""
    return value if isinstance(value, str) else SHORT.repr(value)


SHORT = Repr()
SHORT.maxlevel = 2


def _address(holder: Mapping[str, Any], key: str = "addr", missing: int | None = None) -> int:
    """An address. Other types are refused, because hashing nested tuples can take forever."""
    value = holder.get(key, missing)
    if type(value) is not int:
        raise ValueError("an address is not a number")
    return value


def _size(value: Any) -> int:
    """A number of bytes; anything else is damage."""
    if type(value) is not int or not 0 <= value <= LARGEST_BYTES:
        raise ValueError("not a number of bytes")
    return value


def _free(event: Mapping[str, Any]) -> int | None:
    left = event.get("device_free")
    return None if left is None else _size(left)


def _peak(
    at_end: Mapping[int, _Block], trace: Sequence[Mapping[str, Any]], made: Mapping[int, _Block]
) -> tuple[int, list[_Block]]:
    """The peak in bytes, and the blocks at that moment, found by going back through the trace."""
    alive = dict(at_end)
    now = peak = sum(block.size for block in alive.values())
    moment = len(trace)
    for number in range(len(trace) - 1, -1, -1):
        now += _undo(alive, trace[number], made.get(number))
        if now > peak:
            peak, moment = now, number
    return peak, list(_alive_before(at_end, trace, made, moment).values())


def _alive_before(
    at_end: Mapping[int, _Block], trace: Sequence[Mapping[str, Any]], made: Mapping[int, _Block], moment: int
) -> dict[int, _Block]:
    """The blocks that were allocated before the event with this index."""
    alive = dict(at_end)
    for number in range(len(trace) - 1, moment - 1, -1):
        _undo(alive, trace[number], made.get(number))
    return alive


def _undo(alive: dict[int, _Block], event: Mapping[str, Any], block: _Block | None) -> int:
    """Undo an event, and return the change of allocated bytes."""
    if event["action"] == ALLOCATED and (address := _address(event)) in alive:
        return -alive.pop(address).size
    if event["action"] == FREED and block is not None and (address := _address(event)) not in alive:
        alive[address] = block
        return block.size
    return 0


def _failures(
    at_end: Mapping[int, _Block], trace: Sequence[Mapping[str, Any]], made: Mapping[int, _Block]
) -> Iterator[FailedAllocation]:
    failed = [number for number, event in enumerate(trace) if event["action"] == FAILED]
    for number in failed[-MAX_FAILURES:]:
        event = trace[number]
        asked = _Block(_size(event["size"]), event.get("frames") or (), _label(event.get("user_metadata")))
        earlier = [made[n] for n in range(number) if trace[n]["action"] == ALLOCATED]
        yield FailedAllocation(
            asked.size,
            _free(event),
            _line(asked.frames),
            _module(asked),
            sum(block.size for block in _alive_before(at_end, trace, made, number).values()),
            tuple(MemoryShare(_line(block.frames), block.size, 1) for block in earlier[: -BEFORE_FAILURE - 1 : -1]),
        )


def _shares(blocks: Sequence[_Block], name: Callable[[_Block], str]) -> tuple[MemoryShare, ...]:
    held: dict[str, list[int]] = {}
    for block in blocks:
        held.setdefault(name(block), []).append(block.size)
    shares = [MemoryShare(owner, sum(sizes), len(sizes)) for owner, sizes in held.items()]
    return tuple(sorted(shares, key=lambda share: (-share.held_bytes, share.name)))


def _owner(block: _Block) -> str:
    """The component, or the kind of component whose code is outermost; frames start with the innermost."""
    if block.module is not None:
        return block.module.partition(".")[0]
    files = [_file(frame) for frame in islice(block.frames, DEEPEST_FRAME)]
    for part, owner in OWNERS:
        if any(part in file for file in files):
            return owner
    return "other code" if files else UNKNOWN_OWNER


def _module(block: _Block) -> str:
    """The label of a block, or the innermost function of a model."""
    if block.module is not None:
        return block.module
    for frame in islice(block.frames, DEEPEST_FRAME):
        file = _file(frame)
        if any(part in file for part in MODELS) and frame.get("name") in ("forward", "__call__"):
            return f"{file.rpartition('/')[2].removesuffix('.py')}.{frame.get('name')}"
    return UNKNOWN_OWNER if not block.frames else "outside of models"


MODELS = ("/diffusers/models/", "/transformers/models/")


def _line(frames: Sequence[Mapping[str, Any]]) -> str:
    return next(_lines(frames), UNKNOWN_OWNER)


def _stack(block: _Block) -> str:
    return " < ".join(islice(_lines(block.frames), DEEPEST_STACK)) or UNKNOWN_OWNER


def _lines(frames: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of code outside of torch, the innermost first."""
    for frame in islice(frames, DEEPEST_FRAME):
        file = _file(frame)
        if file.endswith(".py") and "/torch/" not in file:
            yield f"{'/'.join(file.split('/')[-3:])}:{_text(frame.get('line'))} {_text(frame.get('name'))}"


def _file(frame: Mapping[str, Any]) -> str:
    return _text(frame.get("filename", "")).replace("\\", "/")
