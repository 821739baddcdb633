"""What offloading moved in a measured run: per component and per step, and what is moved again in each step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diffprof.record.measured import DEVICE_TO_HOST, FROM_DISK, HOST_TO_DEVICE, Iteration, Move


@dataclass(frozen=True)
class MoveTotals:
    """Several moves together."""

    times_in: int
    """Moves from the host or from disk."""
    times_out: int
    """Moves back to the host. A copy that is only let go, because the host or the disk has another, is no move."""
    host_to_device_bytes: int
    device_to_host_bytes: int
    from_disk_bytes: int
    host_ns: int
    """How long the host was busy with them; with a copy that blocks, also while earlier work kept the device busy."""
    spent_ns: int
    """How long the copies took: on the device where that was timed, else as long as the host was busy."""
    hidden_ns: int
    """Of that, in moves that overlapped with other work."""
    exposed_ns: int
    """Of that, in moves that everything else waited for."""

    @property
    def unknown_ns(self) -> int:
        """Of `spent_ns`, in moves of which it is not known whether something waited for them."""
        return self.spent_ns - self.hidden_ns - self.exposed_ns

    @property
    def all_bytes(self) -> int:
        return self.host_to_device_bytes + self.device_to_host_bytes + self.from_disk_bytes


@dataclass(frozen=True)
class MoveRow:
    """One component, over the given iterations."""

    component: str
    moved: MoveTotals
    steps_in: tuple[int, ...]
    """The denoising steps in which it was moved in, in whichever iteration."""
    steps_out: tuple[int, ...]


@dataclass(frozen=True)
class StepMoveRow:
    """One component in one denoising step."""

    step: int | None
    """None: before, between and after the steps."""
    component: str
    moved: MoveTotals


def move_table(iterations: Sequence[Iteration]) -> list[MoveRow]:
    """One row for each component of which something was moved, the one with most host time first.

    `iterations` are those of ``Measured.timed``, or any others.
    """
    moves = [move for iteration in iterations for move in iteration.moves]
    rows = [_row(name, [move for move in moves if move.component == name]) for name in _components(moves)]
    return sorted(rows, key=lambda row: -row.moved.host_ns)


def step_move_table(iteration: Iteration) -> list[StepMoveRow]:
    """One row for each component in each step in which something of it was moved, in the order of the steps."""
    groups: dict[tuple[int | None, str], list[Move]] = {}
    for move in iteration.moves:
        groups.setdefault((move.step, move.component), []).append(move)
    rows = [StepMoveRow(step, component, move_totals(moves)) for (step, component), moves in groups.items()]
    return sorted(rows, key=lambda row: -1 if row.step is None else row.step)


def moved_each_step(iterations: Sequence[Iteration]) -> tuple[str, ...]:
    """Components that were moved in again in every step that they ran in, and so had gone out before it.

    Steps of which there is only one say nothing: what is needed must come in once.
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
