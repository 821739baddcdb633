"""The weights that offloading moved in a measured run, by component and by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diffprof.record.measured import DEVICE_TO_HOST, FROM_DISK, HOST_TO_DEVICE, Iteration, Move


@dataclass(frozen=True)
class MoveTotals:
    """The sums of several moves."""

    times_in: int
    """Moves from the host or from disk."""
    times_out: int
    """Moves back to the host. Dropping a copy that the host or the disk also has is not a move."""
    host_to_device_bytes: int
    device_to_host_bytes: int
    from_disk_bytes: int
    host_ns: int
    """Time that the host spent on moves; a blocking copy includes waiting for earlier work of the device."""
    spent_ns: int
    """Time of the copies: device time if it was measured, else host time."""
    hidden_ns: int
    """The part of `spent_ns` in moves that overlapped with other work."""
    exposed_ns: int
    """The part of `spent_ns` in moves that everything else waited for."""

    @property
    def unknown_ns(self) -> int:
        """The part of `spent_ns` in moves whose overlap is unknown."""
        return self.spent_ns - self.hidden_ns - self.exposed_ns

    @property
    def all_bytes(self) -> int:
        return self.host_to_device_bytes + self.device_to_host_bytes + self.from_disk_bytes


@dataclass(frozen=True)
class MoveRow:
    """The moves of one component in the given iterations."""

    component: str
    moved: MoveTotals
    steps_in: tuple[int, ...]
    """The denoising steps in which it was moved in, in any iteration."""
    steps_out: tuple[int, ...]


@dataclass(frozen=True)
class StepMoveRow:
    """The moves of one component in one denoising step."""

    step: int | None
    """None for moves outside of the steps."""
    component: str
    moved: MoveTotals


def move_table(iterations: Sequence[Iteration]) -> list[MoveRow]:
    """One row for each component that was moved, the one with the most host time first."""
    moves = [move for iteration in iterations for move in iteration.moves]
    rows = [_row(name, [move for move in moves if move.component == name]) for name in _components(moves)]
    return sorted(rows, key=lambda row: -row.moved.host_ns)


def step_move_table(iteration: Iteration) -> list[StepMoveRow]:
    """One row for each step and component that was moved in it, in the order of the steps."""
    groups: dict[tuple[int | None, str], list[Move]] = {}
    for move in iteration.moves:
        groups.setdefault((move.step, move.component), []).append(move)
    rows = [StepMoveRow(step, component, move_totals(moves)) for (step, component), moves in groups.items()]
    return sorted(rows, key=lambda row: -1 if row.step is None else row.step)


def moved_each_step(iterations: Sequence[Iteration]) -> tuple[str, ...]:
    """Components that were moved in again in every step in which they ran.

    A component that ran in a single step is not listed: it has to be moved in once.
    """
    moves = [move for iteration in iterations for move in iteration.moves]
    return tuple(
        name
        for name in _components(moves)
        if any(len(_steps_run(iteration, name)) > 1 for iteration in iterations)
        and all(_steps_run(iteration, name) <= _steps_in(iteration, name) for iteration in iterations)
    )


def move_totals(moves: Iterable[Move]) -> MoveTotals:
    moves = list(moves)
    return MoveTotals(
        times_in=sum(_is_in(move) for move in moves),
        times_out=sum(not _is_in(move) for move in moves),
        host_to_device_bytes=_bytes(moves, HOST_TO_DEVICE),
        device_to_host_bytes=_bytes(moves, DEVICE_TO_HOST),
        from_disk_bytes=_bytes(moves, FROM_DISK),
        host_ns=sum(move.host_ns for move in moves),
        spent_ns=sum(map(_spent_ns, moves)),
        hidden_ns=sum(_spent_ns(move) for move in moves if move.hidden is True),
        exposed_ns=sum(_spent_ns(move) for move in moves if move.hidden is False),
    )


def _row(component: str, moves: Sequence[Move]) -> MoveRow:
    return MoveRow(
        component=component,
        moved=move_totals(moves),
        steps_in=_steps(move for move in moves if _is_in(move)),
        steps_out=_steps(move for move in moves if not _is_in(move)),
    )


def _components(moves: Iterable[Move]) -> list[str]:
    return list(dict.fromkeys(move.component for move in moves))


def _steps(moves: Iterable[Move]) -> tuple[int, ...]:
    return tuple(sorted({move.step for move in moves if move.step is not None}))


def _steps_run(iteration: Iteration, component: str) -> set[int]:
    samples = [sample for sample in iteration.samples if sample.component == component]
    return {sample.step for sample in samples if sample.step is not None}


def _steps_in(iteration: Iteration, component: str) -> set[int]:
    return set(_steps(move for move in iteration.moves if move.component == component and _is_in(move)))


def _spent_ns(move: Move) -> int:
    return move.host_ns if move.device_ns is None else move.device_ns


def _is_in(move: Move) -> bool:
    return move.direction != DEVICE_TO_HOST


def _bytes(moves: Iterable[Move], direction: str) -> int:
    return sum(move.moved_bytes for move in moves if move.direction == direction)
