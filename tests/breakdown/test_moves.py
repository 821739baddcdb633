"""Moves of weights, added up by component and by step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.breakdown.moves import MoveRow, MoveTotals, StepMoveRow, move_table, moved_each_step, step_move_table
from diffprof.record.measured import DEVICE_TO_HOST, FROM_DISK, HOST_TO_DEVICE, Iteration, Move
from tests.sample_iterations import iteration

STEPS = 3


def move(
    component: str, direction: str, moved_bytes: int, step: int | None = None, hidden: bool | None = False, ns: int = 10
) -> Move:
    return Move(component, direction, moved_bytes, at_ns=0, host_ns=ns, step=step, hidden=hidden)


def run(*moves: Move) -> Iteration:
    """A text encoder before, a UNet in each of three steps, a VAE after them; and these moves."""
    return iteration(steps=STEPS, moves=moves)


def unet_in_and_out(step: int) -> list[Move]:
    return [move("unet", HOST_TO_DEVICE, 800, step), move("unet", DEVICE_TO_HOST, 800, step, ns=5)]


def test_each_component_has_a_row_with_its_sums() -> None:
    moves = [
        move("text_encoder", FROM_DISK, 100, ns=7),
        move("unet", HOST_TO_DEVICE, 800, step=0),
        move("unet", HOST_TO_DEVICE, 200, step=2, hidden=True, ns=3),
        move("unet", FROM_DISK, 50, step=2, hidden=None, ns=1),
        move("unet", DEVICE_TO_HOST, 900, step=2, ns=20),
    ]
    assert move_table([run(*moves)]) == [
        MoveRow(
            "unet",
            MoveTotals(
                times_in=3,
                times_out=1,
                host_to_device_bytes=1000,
                device_to_host_bytes=900,
                from_disk_bytes=50,
                host_ns=34,
                spent_ns=34,
                hidden_ns=3,
                exposed_ns=30,
            ),
            steps_in=(0, 2),
            steps_out=(2,),
        ),
        MoveRow("text_encoder", MoveTotals(1, 0, 0, 0, 100, host_ns=7, spent_ns=7, hidden_ns=0, exposed_ns=7), (), ()),
    ]


def test_hidden_exposed_and_unknown_time_add_up() -> None:
    [row] = move_table([run(*(move("unet", HOST_TO_DEVICE, 1, hidden=hidden) for hidden in (True, False, None)))])
    assert (row.moved.hidden_ns, row.moved.exposed_ns, row.moved.unknown_ns, row.moved.host_ns) == (10, 10, 10, 30)


def test_all_bytes_are_those_of_every_direction() -> None:
    [row] = move_table([run(*(move("unet", way, 5) for way in (HOST_TO_DEVICE, DEVICE_TO_HOST, FROM_DISK)))])
    assert row.moved.all_bytes == 15


def test_several_iterations_are_added() -> None:
    once = run(move("vae", HOST_TO_DEVICE, 300, step=1))
    [row] = move_table([once, replace(once, moves=(*once.moves, move("vae", HOST_TO_DEVICE, 300, step=2)))])
    assert (row.moved.times_in, row.moved.host_to_device_bytes, row.steps_in) == (3, 900, (1, 2))


def test_what_kept_the_host_busy_longest_comes_first() -> None:
    rows = move_table([run(move("vae", FROM_DISK, 9, ns=1), move("unet", FROM_DISK, 1, ns=9))])
    assert [row.component for row in rows] == ["unet", "vae"]


def test_nothing_moved_is_an_empty_table() -> None:
    assert move_table([run()]) == []
    assert step_move_table(run()) == []
    assert moved_each_step([run()]) == ()
    assert moved_each_step([]) == ()


def test_each_step_has_a_row_for_each_component() -> None:
    moves = [
        *unet_in_and_out(1),
        *unet_in_and_out(0),
        move("unet", HOST_TO_DEVICE, 1, step=0),
        move("vae", FROM_DISK, 300),
    ]
    rows = step_move_table(run(*moves))
    assert [(row.step, row.component, row.moved.all_bytes) for row in rows] == [
        (None, "vae", 300),
        (0, "unet", 1601),
        (1, "unet", 1600),
    ]
    assert rows[2] == StepMoveRow(
        1, "unet", MoveTotals(1, 1, 800, 800, 0, host_ns=15, spent_ns=15, hidden_ns=0, exposed_ns=15)
    )


def test_a_component_that_goes_in_and_out_in_each_step_is_named() -> None:
    assert moved_each_step([run(*(one for step in range(STEPS) for one in unet_in_and_out(step)))]) == ("unet",)


@pytest.mark.parametrize("direction", [HOST_TO_DEVICE, FROM_DISK])
def test_to_be_moved_in_again_is_enough_to_have_been_out(direction: str) -> None:
    assert moved_each_step([run(*(move("unet", direction, 800, step) for step in range(STEPS)))]) == ("unet",)


def test_a_component_that_stays_from_the_first_step_on_is_not_named() -> None:
    assert moved_each_step([run(move("unet", HOST_TO_DEVICE, 800, 0), move("unet", DEVICE_TO_HOST, 800, None))]) == ()


def test_a_component_that_skips_one_step_is_not_named() -> None:
    assert moved_each_step([run(*unet_in_and_out(0), *unet_in_and_out(2))]) == ()


def test_going_out_alone_does_not_count() -> None:
    assert moved_each_step([run(*(move("unet", DEVICE_TO_HOST, 800, step) for step in range(STEPS)))]) == ()


def test_a_single_step_says_nothing() -> None:
    assert moved_each_step([iteration(steps=1, moves=tuple(unet_in_and_out(0)))]) == ()


def test_a_component_that_does_not_run_in_the_steps_is_not_named() -> None:
    assert moved_each_step([run(*(move("vae", HOST_TO_DEVICE, 300) for _ in range(STEPS)))]) == ()


def test_it_must_be_so_in_every_iteration() -> None:
    always = run(*(one for step in range(STEPS) for one in unet_in_and_out(step)))
    assert moved_each_step([always, always]) == ("unet",)
    assert moved_each_step([always, run(*unet_in_and_out(0))]) == ()
