"""Modules are equal if nothing but the values of their weights tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from diffusers.models.attention_processor import Attention, AttnProcessor
from torch.nn import GELU, LayerNorm, Linear, ModuleList, Sequential

from diffprof.counting.equal_modules import EqualModules


def numbers(*modules: torch.nn.Module) -> list[int | None]:
    model = ModuleList(modules)
    paths = {id(module): path for path, module in reversed(list(model.named_modules(remove_duplicate=False)))}
    equal = EqualModules(paths, {id(weight) for weight in model.parameters()})
    return [equal.number_of(module) for module in modules]


def block(size: int = 4, **options: Any) -> Sequential:
    return Sequential(LayerNorm(size), Linear(size, size, **options), GELU())


def test_equal_blocks_have_one_number_and_others_have_another() -> None:
    first, second, wide, plain, half = numbers(block(), block(), block(8), block(bias=False), block(dtype=torch.half))
    assert first == second is not None
    assert len({first, wide, plain, half}) == 4


def change_a_setting(module: Sequential) -> None:
    module[0].eps = 1e-3  # type: ignore[union-attr]


def leave_the_training(module: Sequential) -> None:
    module.eval()


def add_a_buffer(module: Sequential) -> None:
    module[1].register_buffer("table", torch.ones(2))  # type: ignore[operator, union-attr]


@pytest.mark.parametrize("change", [change_a_setting, leave_the_training, add_a_buffer])
def test_a_difference_deep_inside_tells_them_apart(change: Callable[[Any], None]) -> None:
    changed = block()
    change(changed)
    first, second = numbers(block(), changed)
    assert None not in (first, second) and first != second


def hook(module: Sequential) -> None:
    module[1].register_forward_hook(lambda module, args, output: None)


def replace_forward(module: Sequential) -> None:
    module[1].forward = lambda x: x  # type: ignore[method-assign]


def add_an_object(module: Sequential) -> None:
    module[1].cache = object()  # type: ignore[assignment]


@pytest.mark.parametrize("change", [hook, replace_forward, add_an_object])
def test_what_is_watched_or_unknown_has_no_number(change: Callable[[Any], None]) -> None:
    changed = block()
    change(changed)
    assert numbers(block(), changed) == [numbers(block())[0], None]


def test_a_module_in_two_places_has_no_equal_around_it() -> None:
    shared = Linear(4, 4)
    first, second = numbers(Sequential(shared, GELU()), Sequential(shared, GELU()))
    assert first is not None and second is None


def test_processors_are_compared_by_what_they_are() -> None:
    first, second, other = (Attention(8, heads=2, dim_head=4) for _ in range(3))
    other.set_processor(AttnProcessor())
    one, same, different = numbers(first, second, other)
    assert one == same is not None and different not in (one, None)


def test_a_change_is_seen_after_forgetting() -> None:
    module = block()
    paths = {id(inner): path for path, inner in module.named_modules()}
    equal = EqualModules(paths, ())
    before = equal.number_of(module)
    change_a_setting(module)
    assert equal.number_of(module) == before
    equal.forget(module[0])
    assert equal.number_of(module) not in (before, None)


def test_a_change_of_an_inner_module_is_one_of_all_around_it() -> None:
    outer = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 2)), torch.nn.Linear(2, 2))
    equal = EqualModules({id(inner): path for path, inner in outer.named_modules()}, ())
    earlier = [equal.number_of(module) for module in outer.modules()]
    outer[0][0].scale = 3.0
    equal.forget(outer[0][0])
    changed = [equal.number_of(module) != before for module, before in zip(outer.modules(), earlier, strict=True)]
    assert changed == [True, True, True, False]
    outer.scale = 3.0  # type: ignore[assignment]
    equal.forget(outer)
    assert equal.number_of(outer) not in (earlier[0], None)
