"""Inputs of a call are told from others, and outputs like those of a call are made."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.counting.operations.module_outputs import Inputs, NotReplayableError, input_signature, plan_output


def virtual(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def signature(*args: Any, **kwargs: Any) -> Any:
    return input_signature(args, kwargs, Inputs())


def test_inputs_of_equal_shapes_are_equal_whatever_their_values() -> None:
    assert signature(virtual(2, 3), scale=1.0) == signature(virtual(2, 3), scale=1.0)
    assert signature(torch.zeros(2), (1, None)) == signature(torch.ones(2), (1, None))


@pytest.mark.parametrize(
    "other",
    [
        signature(virtual(3, 2)),
        signature(virtual(3, 2).t()),
        signature(virtual(2, 3, dtype=torch.float16)),
        signature(torch.zeros(2, 3)),
        signature(x=virtual(2, 3)),
        signature(virtual(2, 3), None),
    ],
)
def test_other_inputs_differ(other: Any) -> None:
    assert signature(virtual(2, 3)) != other


def test_numbers_of_another_kind_differ() -> None:
    assert len({signature(1), signature(1.0), signature(True)}) == 3


def test_it_matters_whether_two_inputs_share_their_memory() -> None:
    x = virtual(2, 3)
    assert signature(x, x) != signature(x, virtual(2, 3))


@pytest.mark.parametrize("inputs", [object(), [[virtual(2)]], {"x": virtual(2)}, (object(),), [object()]])
def test_what_can_keep_state_or_be_refilled_is_not_replayed_and_nothing_of_it_is_held(inputs: Any) -> None:
    held = Inputs()
    assert input_signature((virtual(3), inputs), {}, held) is None
    assert held.tensors == []


def test_lists_are_told_by_what_is_in_them_and_their_tensors_are_not_held() -> None:
    held, cache = Inputs(), [virtual(2), None, "Rep"]
    fixed, contents = input_signature((virtual(3), cache, cache), {"index": [0]}, held) or (None, None)
    assert [len(held.tensors), held.lists, len(contents)] == [1, [cache, [0]], 2]
    others = ([virtual(2), None, virtual(2)], [virtual(4), None, "Rep"], [virtual(2), None])
    signatures = [signature(virtual(3), one, one, index=[0]) for one in (cache, *others)]
    assert {one[0] for one in signatures} == {fixed} and len({one[1] for one in signatures}) == 4
    assert signature(cache, list(cache)) != signature(cache, cache)


def plan(output: Any, *tensors: torch.Tensor, new: tuple[torch.Tensor, ...] = ()) -> Any:
    return plan_output(output, tensors, {one.untyped_storage()._cdata: n for n, one in enumerate(new)})


def test_an_output_is_made_anew_in_as_large_a_storage() -> None:
    base = virtual(4, 3)
    made, storages = plan((base[1:], {"all": base}, 7), new=(base,)).make(())
    part, whole = made[0], made[1]["all"]
    assert (part.shape, part.stride(), part.storage_offset(), made[2]) == ((3, 3), (3, 1), 3, 7)
    assert part.untyped_storage()._cdata == whole.untyped_storage()._cdata == storages[0]._cdata
    assert storages[0].nbytes() == 4 * 3 * 4 and whole is not base


def test_an_input_and_a_view_of_it_are_those_of_the_other_call() -> None:
    old, new = virtual(4, 3), virtual(4, 3)
    made, storages = plan([old, old.t()], old).make([new])
    assert made[0] is new and made[1].untyped_storage()._cdata == new.untyped_storage()._cdata
    assert (made[1].shape, made[1].stride(), storages) == ((3, 4), (1, 3), {})


@pytest.mark.parametrize("output", [torch.ones(2), virtual(2), object(), (1, object())])
def test_values_and_what_comes_from_elsewhere_cannot_be_made(output: Any) -> None:
    with pytest.raises(NotReplayableError):
        plan(output, virtual(2))
