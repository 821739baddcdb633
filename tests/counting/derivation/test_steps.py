"""Numbers of steps that one program covers."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.counting.derivation.ranges import SINGLE_STEPS
from diffprof.counting.derivation.steps import StepGroup, StepGroups
from diffprof.errors import RequestError
from diffprof.laws.law import Range


def test_steps_that_follow_a_law_are_one_group() -> None:
    (group,) = StepGroups(lambda steps: {"calls": (("loop", 2 * steps, ("unet",)),)}, 30).find()
    assert group.ranges == (Range(1, 150),)


def test_few_steps_that_follow_another_have_their_own_programs() -> None:
    first, *others = StepGroups(lambda steps: {"calls": max(steps, 3)}, 30).find()
    assert first.ranges == (Range(3, 150),)
    assert others == [StepGroup((number,), (Range(number, number),)) for number in (1, 2)]


def test_a_number_that_the_pipeline_does_not_take_is_left_out() -> None:
    def values_of(steps: int) -> Any:
        if steps < 2:
            raise RequestError("too few steps")
        return {"calls": steps}

    (group,) = StepGroups(values_of, 30).find()
    assert group.ranges == (Range(2, 150),)


def test_numbers_of_one_form_are_together_that_of_the_default_first() -> None:
    """A schedule of a thousand steps that is divided: some numbers leave a rest, for which something more is done."""

    def values_of(steps: int) -> Any:
        rest = ("rest",) if 1000 % steps else ()
        return {"calls": (("loop", steps, ("unet",)), *rest)}

    groups = StepGroups(values_of, 50).find()
    whole, rest = groups
    whole_numbers = [number for bounds in whole.ranges for number in range(bounds.least, bounds.most + 1)]
    assert whole_numbers == [1, 2, 4, 5, 8, 10, 20, 25, 40, 50]
    assert all(1000 % bounds.least for bounds in rest.ranges)


@pytest.mark.parametrize("default", [20, 77])
def test_steps_that_are_split_between_two_models_are_each_by_themselves(default: int) -> None:
    groups = StepGroups(lambda steps: {"high": int(steps * 0.29) + 1, "low": steps - int(steps * 0.29)}, default).find()
    assert groups[0] == StepGroup((default,), (Range(default, default),))
    assert {bounds.least for group in groups for bounds in group.ranges} == {*SINGLE_STEPS, default}
