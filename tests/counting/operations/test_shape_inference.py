"""Results without data have the shapes, strides and dtypes of real ones."""

from __future__ import annotations

import pytest
import torch

from diffprof.counting.operations.shape_inference import as_meta, infer
from tests.counting.formulas.counted import on_virtual


def test_a_result_is_made_afresh_with_its_layout() -> None:
    rows = torch.ones(3, 4, dtype=torch.float64)
    op, make = infer(torch.ops.aten.t.default, (rows,), {}, [rows])
    first, second = make(), make()
    assert op.name == "t"
    assert first is not second
    assert (first.is_meta, tuple(first.shape), first.stride(), first.dtype) == (True, (4, 3), (1, 4), torch.float64)


def test_every_tensor_of_the_arguments_and_the_device_lose_their_data() -> None:
    values = as_meta([torch.ones(2), (torch.device("cpu"), 3)])
    assert values[0].is_meta
    assert values[1] == (torch.device("meta"), 3)


def test_an_operation_without_a_shape_rule_is_rejected_with_its_name() -> None:
    from diffprof.errors import DiffprofError

    library = torch.library.Library("diffprof_test", "FRAGMENT")
    library.define("shapeless(Tensor x) -> Tensor")
    library.impl("shapeless", lambda x: x.clone(), "CPU")
    with pytest.raises(DiffprofError, match=r"diffprof_test\.shapeless"):
        on_virtual(torch.ops.diffprof_test.shapeless, torch.ones(5))
