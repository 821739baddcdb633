"""Every weight that offloading moves is written down, with its exact bytes; nothing else is.

There is no GPU here. Where one is needed, weights only say that they lie on it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import accelerate
import numpy
import pytest
import torch
from accelerate.hooks import AlignDevicesHook, UserCpuOffloadHook, add_hook_to_module
from accelerate.utils import OffloadedWeightsLoader, offload_state_dict
from torch.testing._internal.two_tensor import TwoTensor

from diffprof.record.measured import DEVICE_TO_HOST, FROM_DISK, HOST_TO_DEVICE, Move
from diffprof.runtime.instrumentation.pipeline_monitor import PipelineMonitor
from diffprof.runtime.instrumentation.weight_moves import record_moves
from tests.runtime.instrumentation.offloaded import (
    FLOAT32,
    OFFLOADS,
    POSITION_IDS,
    STEPS,
    GpuComponent,
    OnDevice,
    arguments,
    built,
    bytes_moved,
    fill_as_on_a_gpu,
    functions_that_move,
    play_gpu,
    run_monitored,
    watching,
    weights_in,
)
from tests.runtime.timing.fakes import FakeClock


class TestSequentialOffload:
    def test_every_weight_comes_in_at_every_call_and_none_goes_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pipeline = built()
        accelerate.cpu_offload(pipeline.unet, "cpu")
        fill_as_on_a_gpu(monkeypatch)

        iteration = run_monitored(pipeline)

        for step in range(STEPS):
            assert bytes_moved(iteration, "unet", HOST_TO_DEVICE, step) == FLOAT32 * weights_in(pipeline.unet)
        assert {(move.component, move.direction, move.hidden) for move in iteration.moves} == {
            ("unet", HOST_TO_DEVICE, False)
        }

    def test_one_move_is_one_module_that_was_filled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pipeline = built()
        accelerate.cpu_offload(pipeline.unet, "cpu")
        fill_as_on_a_gpu(monkeypatch)

        moves = run_monitored(pipeline).moves

        first_layer = pipeline.unet.conv_in  # 3 x 3, from 4 to 8 channels, with a bias
        assert weights_in(first_layer) == 8 * 4 * 3 * 3 + 8
        assert FLOAT32 * weights_in(first_layer) in [move.moved_bytes for move in moves]
        assert len(moves) == STEPS * sum(bool(part._parameters) for part in pipeline.unet.modules())

    def test_on_a_cpu_modules_are_given_what_the_host_has_and_nothing_moves(self) -> None:
        pipeline = built()
        kept = pipeline.unet.state_dict()
        accelerate.cpu_offload(pipeline.unet, "cpu", state_dict=kept)
        layer, addresses = pipeline.unet.conv_in, []
        run = layer._old_forward

        def forward(*args: Any) -> Any:
            addresses.append(layer.weight.data_ptr())
            return run(*args)

        layer._old_forward = forward

        assert run_monitored(pipeline).moves == ()
        assert addresses == [kept["conv_in.weight"].data_ptr()] * STEPS

    def test_a_lazy_mapping_is_read_only_once(self) -> None:
        class Loader(Mapping[str, torch.Tensor]):
            asked = 0

            def __getitem__(self, name: str) -> torch.Tensor:
                self.asked += 1
                return torch.ones(5, 3)

            def __iter__(self) -> Iterator[str]:
                return iter(["weight"])

            def __len__(self) -> int:
                return 1

        layer, loader = torch.nn.Linear(3, 5, bias=False), Loader()
        add_hook_to_module(layer, AlignDevicesHook("cpu", offload=True, weights_map=loader))
        with watching(layer):
            layer(torch.ones(1, 3))

        assert loader.asked == 1

    def test_a_shared_weight_that_is_there_already_does_not_come_again(self) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(3, 5, bias=False))
        layer, weights = model[0], {"weight": torch.ones(5, 3)}
        layer_hook = AlignDevicesHook("cpu", offload=True, weights_map=weights, tied_params_map={})
        add_hook_to_module(layer, layer_hook)
        on_device = OnDevice(torch.ones(5, 3))

        with watching(model) as iteration:
            layer_hook.tied_params_map = {weights["weight"].data_ptr(): {"cpu": on_device}}
            model(torch.ones(1, 3))

        assert iteration.moves == []


class TestDiskOffload:
    def test_every_weight_is_read_from_disk_at_every_call(self, tmp_path: Path) -> None:
        pipeline = built()
        accelerate.disk_offload(pipeline.unet, tmp_path, "cpu")

        iteration = run_monitored(pipeline)

        for step in range(STEPS):
            assert bytes_moved(iteration, "unet", FROM_DISK, step) == FLOAT32 * weights_in(pipeline.unet)
        assert {(move.direction, move.hidden) for move in iteration.moves} == {(FROM_DISK, False)}

    def test_weights_in_memory_and_on_disk_are_distinguished(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        layer = torch.nn.Linear(3, 5)
        offload_state_dict(tmp_path, {"bias": torch.ones(5)})
        loader = OffloadedWeightsLoader(state_dict={"weight": torch.ones(5, 3)}, save_folder=tmp_path)
        add_hook_to_module(layer, AlignDevicesHook("cpu", offload=True, weights_map=loader))
        clock = fill_as_on_a_gpu(monkeypatch)

        with watching(layer, clock) as iteration:
            layer(torch.ones(1, 3))

        assert [(move.direction, move.moved_bytes) for move in iteration.moves] == [
            (FROM_DISK, FLOAT32 * 5),
            (HOST_TO_DEVICE, FLOAT32 * 5 * 3),
        ]
        assert sum(move.host_ns for move in iteration.moves) == clock.now  # nothing of it twice


class TestModelOffload:
    def test_a_whole_component_comes_in_when_it_is_called(self) -> None:
        pipeline = built()
        pipeline.enable_model_cpu_offload(device="cpu")  # as cpu:0, another device than cpu: torch makes copies there

        iteration = run_monitored(pipeline)

        unet, vae, text_encoder = pipeline.unet, pipeline.vae, pipeline.text_encoder
        text_bytes = FLOAT32 * weights_in(text_encoder) + POSITION_IDS
        assert [(move.component, move.step, move.direction, move.moved_bytes) for move in iteration.moves] == [
            ("text_encoder", None, HOST_TO_DEVICE, text_bytes),
            ("text_encoder", None, HOST_TO_DEVICE, text_bytes),  # the empty prompt
            ("unet", 0, HOST_TO_DEVICE, FLOAT32 * weights_in(unet)),
            ("unet", 1, HOST_TO_DEVICE, FLOAT32 * weights_in(unet)),
            ("vae", None, HOST_TO_DEVICE, FLOAT32 * weights_in(vae)),
        ]

    def test_components_take_turns_on_a_device_and_the_last_leaves_it_before_the_call_ends(self) -> None:
        pipeline = built()
        for component in (pipeline.text_encoder, pipeline.unet, pipeline.vae):
            play_gpu(component)
        pipeline.enable_model_cpu_offload(device="cpu")

        iteration = run_monitored(pipeline, guidance_scale=1.0)

        text_bytes = FLOAT32 * weights_in(pipeline.text_encoder) + POSITION_IDS
        unet_bytes, vae_bytes = FLOAT32 * weights_in(pipeline.unet), FLOAT32 * weights_in(pipeline.vae)
        assert [(move.component, move.step, move.direction, move.moved_bytes) for move in iteration.moves] == [
            ("text_encoder", None, HOST_TO_DEVICE, text_bytes),
            ("text_encoder", 0, DEVICE_TO_HOST, text_bytes - POSITION_IDS),
            ("unet", 0, HOST_TO_DEVICE, unet_bytes),
            ("unet", None, DEVICE_TO_HOST, unet_bytes),
            ("vae", None, HOST_TO_DEVICE, vae_bytes),
            ("vae", None, DEVICE_TO_HOST, vae_bytes),
        ]
        assert iteration.moves[-1].at_ns + iteration.moves[-1].host_ns <= iteration.wall.end_ns

    def test_the_component_before_goes_out_when_the_next_one_comes_in(self) -> None:
        clock = FakeClock()
        first, second = GpuComponent(10, clock), GpuComponent(20, clock)
        _, first_hook = accelerate.cpu_offload_with_hook(first, OnDevice.device)
        _, second_hook = accelerate.cpu_offload_with_hook(second, OnDevice.device, prev_module_hook=first_hook)

        with watching(torch.nn.ModuleDict({"first": first, "second": second}), clock) as iteration:
            first(), second(), second()  # the second call finds it there
            assert isinstance(second_hook, UserCpuOffloadHook)
            second_hook.offload()

        took = GpuComponent.MILLISECONDS_PER_MOVE * 1_000_000
        assert iteration.moves == [
            Move("first", HOST_TO_DEVICE, 40, 0 * took, took, hidden=False),
            Move("first", DEVICE_TO_HOST, 40, 1 * took, took, hidden=False),
            Move("second", HOST_TO_DEVICE, 80, 2 * took, took, hidden=False),
            Move("second", DEVICE_TO_HOST, 80, 3 * took, took, hidden=False),
        ]

    def test_whether_a_move_that_does_not_block_is_hidden_is_not_known(self) -> None:
        component = GpuComponent(10, FakeClock())
        with watching(component) as iteration:
            component.to("cuda:0", non_blocking=True)
            component.to("cpu", torch.float32, True)

        assert [move.hidden for move in iteration.moves] == [None, None]

    def test_changing_the_dtype_or_keeping_the_device_is_not_a_move(self) -> None:
        layer = torch.nn.Linear(3, 5)
        with watching(layer) as iteration:
            layer.to(torch.float64)
            layer.to("cpu")
            layer.to("meta")  # nothing is there

        assert iteration.moves == []

    def test_a_class_and_the_one_it_is_made_from_write_down_one_move(self) -> None:
        class Special(torch.nn.Linear):
            pass

        special = Special(3, 5)
        with watching(torch.nn.Sequential(special, torch.nn.Linear(1, 1))) as iteration:
            special.to("cpu:0")

        assert [move.moved_bytes for move in iteration.moves] == [FLOAT32 * (5 * 3 + 5)]

    def test_a_compiled_component_is_known_by_the_one_inside(self) -> None:
        layer = torch.nn.Linear(3, 5, bias=False)
        compiled = torch.compile(layer, backend="eager")
        undo = record_moves([compiled])
        with watching(layer) as iteration:
            compiled.to("cpu:0")
        undo()

        assert [move.moved_bytes for move in iteration.moves] == [FLOAT32 * 5 * 3]

    def test_a_weight_that_two_modules_share_is_moved_once(self) -> None:
        first, second = torch.nn.Linear(3, 5, bias=False), torch.nn.Linear(3, 5, bias=False)
        second.weight = first.weight
        model = torch.nn.Sequential(first, second)
        with watching(model) as iteration:
            model.to("cpu:0")

        assert [move.moved_bytes for move in iteration.moves] == [FLOAT32 * 5 * 3]

    def test_a_weight_that_is_a_shell_counts_what_it_holds(self) -> None:
        layer = torch.nn.Linear(3, 5, bias=False)
        layer.weight = torch.nn.Parameter(TwoTensor(torch.ones(5, 3), torch.ones(5, 3)))
        with watching(layer) as iteration:
            layer.to("cpu:0")

        assert [move.moved_bytes for move in iteration.moves] == [2 * FLOAT32 * 5 * 3]

    def test_a_move_that_fails_half_way_is_written_down_as_far_as_it_came(self) -> None:
        component = GpuComponent(10, FakeClock())
        component.beyond = GpuComponent(20, FakeClock(), full=True)
        with watching(component) as iteration:
            with pytest.raises(torch.OutOfMemoryError):
                component.to("cuda:0")
            component.to("cpu")

        assert [(move.direction, move.moved_bytes) for move in iteration.moves] == [
            (HOST_TO_DEVICE, 40),
            (DEVICE_TO_HOST, 40),
        ]


class TestWatching:
    @pytest.mark.parametrize("offload", ["sequential", "disk", "model", "leaf_level", "block_level"])
    def test_images_are_the_same_and_everything_is_restored(self, offload: str, tmp_path: Path) -> None:
        plain, pipeline = built(), built()
        OFFLOADS[offload](pipeline, tmp_path)
        before = functions_that_move(pipeline)

        watch = PipelineMonitor(pipeline, lambda call: None)
        watch.start()
        assert functions_that_move(pipeline) != before
        pictures = pipeline(**arguments()).images
        watch.stop()

        assert numpy.array_equal(pictures, plain(**arguments()).images)
        assert functions_that_move(pipeline) == before

    def test_what_belongs_to_another_pipeline_is_not_written_down(self, tmp_path: Path) -> None:
        ours, other = torch.nn.Linear(3, 5), torch.nn.Linear(3, 5)
        accelerate.disk_offload(other, tmp_path, "cpu")
        with watching(ours) as iteration:
            other(torch.ones(1, 3))
            torch.nn.Linear(3, 5).to("cpu:0")

        assert iteration.moves == []

    def test_what_another_thread_moves_is_not_written_down(self) -> None:
        layer = torch.nn.Linear(3, 5)
        with watching(layer) as iteration:
            thread = threading.Thread(target=layer.to, args=("cpu:0",))
            thread.start()
            thread.join()

        assert iteration.moves == []

    def test_nothing_is_looked_at_outside_of_a_call(self) -> None:
        layer = GpuComponent(10, FakeClock())
        undo = record_moves([layer])
        layer.to("cuda:0")
        undo()
        assert layer.place.type == "cuda"

    @pytest.mark.extensive
    def test_compiled_code_is_compiled_as_without_it(self, tmp_path: Path) -> None:
        layer = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 3))
        accelerate.disk_offload(layer, tmp_path, "cpu")
        expected = layer(torch.ones(1, 3))
        graphs = []

        def remember(graph: torch.fx.GraphModule, inputs: Any) -> Any:
            graphs.append(graph)
            return graph.forward

        torch._dynamo.reset()
        torch.compile(layer, backend=remember)(torch.ones(1, 3))
        alone = len(graphs)
        torch._dynamo.reset()
        with watching(layer) as iteration:
            watched_too = torch.compile(layer, backend=remember)(torch.ones(1, 3))
        torch._dynamo.reset()

        assert len(iteration.moves) == 2
        assert alone > 0 and len(graphs) == 2 * alone
        assert torch.equal(watched_too, expected)
