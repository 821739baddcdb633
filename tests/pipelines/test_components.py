"""The parts of a pipeline: their slots and roles, and which scheduler belongs to which slot."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from diffusers import DDIMScheduler, EulerDiscreteScheduler

from diffprof.pipelines.components import (
    SchedulerSlots,
    components_of,
    entry_methods,
    is_compiled,
    is_pipeline,
    modules_of,
    persistent_buffers,
    pipelines_in,
    replaced_methods,
    role_of,
    schedulers_of,
    unwrap_compiled,
    weight_bytes,
    weight_bytes_by_dtype,
)
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture(scope="module")
def pipeline() -> Any:
    return SMALL_PIPELINES["stable-diffusion"].build()


def test_components_and_schedulers_are_found_by_their_slots(pipeline: Any) -> None:
    assert set(components_of(pipeline)) == {"vae", "text_encoder", "unet"}
    assert schedulers_of(pipeline) == {"scheduler": pipeline.scheduler}
    roles = {slot: role_of(slot, component) for slot, component in components_of(pipeline).items()}
    assert roles == {"vae": "vae", "text_encoder": "text_encoder", "unet": "denoiser"}


def test_a_scheduler_belongs_to_its_slot_also_as_a_copy() -> None:
    first, second, stranger = DDIMScheduler(), EulerDiscreteScheduler(), torch.optim.SGD([torch.zeros(1)])
    slots = SchedulerSlots({"scheduler": first, "prior_scheduler": second})
    assert set(slots.classes) == {DDIMScheduler, EulerDiscreteScheduler}
    assert slots.slot_of(second) == "prior_scheduler"
    assert slots.slot_of(copy.deepcopy(second)) == "prior_scheduler"
    assert slots.slot_of(stranger) == "SGD"


def test_of_two_schedulers_of_one_class_a_copy_belongs_to_the_first() -> None:
    first, second = DDIMScheduler(), DDIMScheduler()
    slots = SchedulerSlots({"first": first, "second": second})
    assert [slots.slot_of(scheduler) for scheduler in (first, second, DDIMScheduler())] == ["first", "second", "first"]


def test_a_pipeline_is_an_object_that_can_be_called(pipeline: Any) -> None:
    assert is_pipeline(pipeline)
    assert not any(map(is_pipeline, (type(pipeline), pipeline.unet, {}, None, "sd-1.5")))
    assert pipelines_in(pipeline) == [pipeline]


def test_a_shared_parameter_belongs_to_the_first_module_that_holds_it() -> None:
    first, second = torch.nn.Linear(2, 3, bias=False), torch.nn.Linear(2, 3, bias=False)
    second.weight = first.weight
    assert [module.parameters for module in modules_of(torch.nn.Sequential(first, second))] == [0, 6, 0]


def test_weight_bytes_are_those_of_parameters_and_of_buffers_that_a_checkpoint_stores() -> None:
    module = torch.nn.BatchNorm1d(4)  # 8 parameters, 8 statistics, and a counter of 8 bytes
    module.register_buffer("table", torch.zeros(100), persistent=False)
    assert sum(buffer.numel() for buffer in persistent_buffers(module)) == 9
    assert weight_bytes(module) == 4 * 16 + 8
    assert weight_bytes_by_dtype(module) == {"float32": 4 * 16, "int64": 8}


def test_weight_bytes_of_mixed_dtypes_are_told_apart() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 2, bias=False))
    module[0].to(torch.float8_e4m3fn)
    assert weight_bytes_by_dtype(module) == {"float32": 32, "float8_e4m3fn": 16}


def test_entry_methods_are_those_of_the_models_own_classes(pipeline: Any) -> None:
    names = {name for _, name in entry_methods(pipeline.vae)}
    assert {"encode", "decode"} <= names
    assert not {"forward", "save_pretrained", "to"} & names


def test_a_method_that_was_replaced_on_the_object_is_found() -> None:
    vae: Any = SMALL_PIPELINES["stable-diffusion"].build().vae
    assert replaced_methods(vae) == {}
    vae.decode = replacement = vae.decode
    assert replaced_methods(vae) == {"decode": replacement}
    assert not is_compiled(vae)


def test_a_compiled_component_is_unwrapped() -> None:
    module = torch.nn.Linear(2, 2)
    compiled: Any = torch.compile(module)
    assert unwrap_compiled(compiled) is module
    assert unwrap_compiled(module) is module
    assert is_compiled(compiled)
