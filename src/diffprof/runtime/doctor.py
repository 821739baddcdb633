"""``diffprof doctor``: are the promises about a measured run kept on this machine, with its device and its libraries?

It takes the model on board, which has weights, and layers of the shapes of SDXL with random ones.
"""

from __future__ import annotations

import gc
import platform
import time
import weakref
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from diffprof.catalogue.bundled_model import SHAPES
from diffprof.counting.profile import profile_call
from diffprof.errors import RequestError
from diffprof.pipelines.opening import open_live
from diffprof.pipelines.weights import plan_loading
from diffprof.record.examination import Check, Examination, Verdict
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.record.request import Request
from diffprof.runtime.device import device_of
from diffprof.runtime.instrumentation.gpu_sensors import find_gpu
from diffprof.runtime.measure import Run, measuring
from diffprof.runtime.timing.devices import DeviceTimer

LIBRARIES = ("diffprof", "torch", "diffusers", "transformers", "accelerate", "triton", "bitsandbytes", "torchao")
CALL: dict[str, Any] = {
    "prompt": "a red circle", "num_inference_steps": 3, "height": 64, "width": 64, "output_type": "pt",
}  # fmt: skip
REPEATS = 10
MOST_OF_PEAK = 1.05
"""Nothing computes faster than its peak; five percent are left for a clock that is boosted."""


class Skipped(Exception):
    """A check that this machine cannot make, and why."""


def examine(device: str | None = None, progress: Progress | None = None) -> Examination:
    """Make every check; one that fails does not keep the others from being made."""
    patient = _Patient(device)
    checks = []
    for name, check in CHECKS.items():
        if progress is not None:
            progress(ProgressEvent(Activity.measuring, name))
        try:
            checks.append(Check(name, Verdict.ok, check(patient)))
        except RequestError:
            raise  # such as a device that is not there: no check could be made
        except Skipped as reason:
            checks.append(Check(name, Verdict.skipped, str(reason)))
        except Exception as error:  # noqa: BLE001  that is what is to be found out
            checks.append(Check(name, Verdict.failed, f"{type(error).__name__}: {error}".splitlines()[0][:300]))
    return Examination(_machine(patient), tuple(checks))


class _Patient:
    """The model on board, on the device that is examined; a fresh one for every check."""

    def __init__(self, device: str | None) -> None:
        self.device = device

    def pipeline(self) -> Any:
        request = Request.create(SHAPES, {}, device=self.device)
        pipeline = plan_loading(request).load(0).pipeline
        pipeline.set_progress_bar_config(disable=True)
        return pipeline

    def call(self, pipeline: Any, **changes: Any) -> torch.Tensor:
        generator = torch.Generator("cpu").manual_seed(7)
        image: torch.Tensor = pipeline(**{**CALL, "generator": generator, **changes}).images
        return image


def _equal_images(patient: _Patient) -> str:
    pipeline = patient.pipeline()
    alone = [patient.call(pipeline) for _ in range(2)]
    if not torch.equal(*alone):
        raise Skipped("two unwatched calls differ: this device does not compute the same twice")
    profile_call(pipeline, CALL)
    with measuring(pipeline):
        watched = patient.call(pipeline)
    _require(torch.equal(alone[0], watched), "the image of a measured call differs from that of an unwatched one")
    _require(torch.equal(alone[0], patient.call(pipeline)), "the image after a measured call differs")
    return "bit by bit, before, during and after"


def _counts(patient: _Patient) -> str:
    pipeline = patient.pipeline()
    run = _measured(patient, pipeline)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        patient.call(pipeline)
    counted, executed = run.profile.total.macs, counter.get_total_flops() // 2
    _require(counted == executed, f"{counted} MACs were counted and {executed} executed")
    return f"{counted} MACs"


def _compiled(patient: _Patient) -> str:
    """With a backend that only counts graphs: what it would make of them is not the question."""
    graphs = {"compiled": 0, "executed": 0}

    def backend(graph: Any, inputs: Any) -> Callable[..., Any]:
        graphs["compiled"] += 1

        def execute(*args: Any) -> Any:
            graphs["executed"] += 1
            return graph.forward(*args)

        return execute

    pipeline = patient.pipeline()
    pipeline.vae.decoder = torch.compile(pipeline.vae.decoder, backend=backend)
    patient.call(pipeline)
    before = dict(graphs)
    _require(before["executed"] > 0, "nothing was compiled")
    _measured(patient, pipeline)
    patient.call(pipeline)
    _require(graphs["compiled"] == before["compiled"], "measuring made torch compile again")
    _require(graphs["executed"] == 3 * before["executed"], "measuring made compiled code run uncompiled")
    return f"{before['compiled']} graphs, not compiled again"


def _generator(patient: _Patient) -> str:
    pipeline = patient.pipeline()
    place = torch.device(pipeline._execution_device)
    generator = torch.Generator(place).manual_seed(7)
    before = generator.get_state()
    profile_call(pipeline, {**CALL, "generator": generator})
    _require(torch.equal(before, generator.get_state()), "the generator was advanced")
    return f"torch.Generator({str(place)!r})"


def _freed(patient: _Patient) -> str:
    pipeline = patient.pipeline()
    run = _measured(patient, pipeline)
    weights = weakref.ref(pipeline.unet)
    del pipeline
    gc.collect()
    _require(weights() is None, "a run that was kept keeps the weights in memory")
    _require(run.profile.total.macs > 0, "the run cannot be read any more")
    return "a run that is kept does not keep the weights"


def _device_times(patient: _Patient) -> str:
    pipeline = patient.pipeline()
    if torch.device(pipeline._execution_device).type == "cpu":
        raise Skipped("the CPU has one clock, that of the host")
    patient.call(pipeline)
    iteration = _measured(patient, pipeline).profile.measured.iterations[0]  # type: ignore[union-attr]
    times = [sample.span.device_ns for sample in iteration.samples if sample.component is not None]
    _require(None not in times, "a section has no time of the device")
    inside, wall = sum(time or 0 for time in times), iteration.wall.device_ns or 0
    _require(inside <= wall, f"sections take {inside} ns of a call of {wall} ns")
    _require(iteration.memory[-1].allocated_bytes is not None, "the allocator's memory is not read")
    return f"{len(times)} sections, {inside / wall:.0%} of the call"


def _layers(patient: _Patient) -> str:
    """Layers of SDXL at 1024 x 1024, whose rate must be below the device's peak."""
    pipeline = patient.pipeline()
    place = torch.device(pipeline._execution_device)
    device = device_of(pipeline)
    dtype = torch.float32 if place.type == "cpu" else torch.float16
    peak = device.peak_flops_per_second.get(str(dtype).removeprefix("torch."))
    rates = {
        name: flops / _seconds(layer, place)
        for name, (flops, layer) in _sdxl_layers(place, dtype, small=place.type == "cpu").items()
    }
    if peak is not None and place.type != "cpu":  # that of a processor is timed, and no limit
        for name, rate in rates.items():
            _require(rate <= MOST_OF_PEAK * peak, f"{name} reaches {rate / peak:.0%} of the peak of {device.name}")
    each = [f"{name} {rate / 1e12:.2f} TFLOP/s" for name, rate in rates.items()]
    return ", ".join(each) + ("" if peak is None else f", of {peak / 1e12:.2f}")


def _sdxl_layers(place: torch.device, dtype: torch.dtype, small: bool) -> dict[str, tuple[int, Callable[[], object]]]:
    """Name -> the FLOPs of one call, and the call; `small` for a processor that would take minutes."""
    tokens, side, heads = (256, 32, 5) if small else (4096, 128, 10)
    options: dict[str, Any] = {"device": place, "dtype": dtype}
    x, image = torch.randn(2, tokens, 640, **options), torch.randn(2, 320, side, side, **options)
    linear, convolution = torch.nn.Linear(640, 5120, **options), torch.nn.Conv2d(320, 320, 3, padding=1, **options)
    query = torch.randn(2, heads, tokens, 64, **options)
    attend = torch.nn.functional.scaled_dot_product_attention
    return {
        "linear": (2 * x.numel() * 5120, lambda: linear(x)),
        "convolution": (2 * image.numel() * 320 * 9, lambda: convolution(image)),
        "attention": (2 * 2 * query.numel() * tokens, lambda: attend(query, query, query)),
    }


@torch.no_grad()
def _seconds(layer: Callable[[], object], place: torch.device) -> float:
    """The shortest of several calls, by the clock of the device."""
    timer = DeviceTimer() if place.type != "cpu" else None
    if timer is not None:
        timer.search()
    shortest = float("inf")
    for _ in range(REPEATS):
        began, mark = time.perf_counter(), timer.mark() if timer is not None else None
        layer()
        if timer is not None and mark is not None:
            end = timer.mark()
            timer.synchronize()
            _require(end is not None, "no event could be recorded")
            seconds = mark.event.elapsed_time(end.event) / 1000 if end is not None else 0.0
        else:
            seconds = time.perf_counter() - began
        shortest = min(shortest, seconds)
    return max(shortest, 1e-9)


def _second_device(patient: _Patient) -> str:
    pipeline = patient.pipeline()
    place = torch.device(pipeline._execution_device)
    backend: Any = getattr(torch, place.type)
    if place.type == "cpu" or backend.device_count() < 2:
        raise Skipped("there is one device")
    second = torch.device(place.type, 1 if (place.index or 0) == 0 else 0)
    pipeline.to(second)
    run = _measured(patient, pipeline)
    points = run.profile.measured.iterations[0].memory  # type: ignore[union-attr]
    _require(max(point.peak_allocated_bytes or 0 for point in points) > 0, f"no memory was seen on {second}")
    return f"times and memory of {second}"


def _sampling(patient: _Patient) -> str:
    pipeline = patient.pipeline()
    place = torch.device(pipeline._execution_device)
    if place.type == "cpu":
        raise Skipped("there is no GPU to sample")
    read, problem = find_gpu(place)
    if read is None:
        raise Skipped(problem or "this GPU is not sampled")
    return f"{read().memory_bytes / 1e9:.1f} GB in use by all programs"


CHECKS: dict[str, Callable[[_Patient], str]] = {
    "equal_images": _equal_images,
    "counts": _counts,
    "compiled": _compiled,
    "generator": _generator,
    "freed": _freed,
    "device_times": _device_times,
    "layers": _layers,
    "second_device": _second_device,
    "sampling": _sampling,
}
"""By name, in the order in which they are made."""


def _measured(patient: _Patient, pipeline: Any) -> Run:
    with measuring(pipeline, sample_hz=1) as run:
        patient.call(pipeline)
    limitations = [f"{one.kind} {one.detail}" for one in run.limitations if one.kind != "launch_times"]
    _require(not limitations, "; ".join(limitations))
    return run


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _machine(patient: _Patient) -> dict[str, str]:
    found = {"python": platform.python_version(), "system": platform.platform()}
    found |= {library: _version(library) for library in LIBRARIES}
    found["cuda"] = str(torch.version.cuda or torch.version.hip or "none")
    try:
        device = device_of(open_live(patient.pipeline()).pipeline)
    except Exception as error:  # noqa: BLE001  the checks say more about it
        found["device"] = f"{type(error).__name__}: {error}"
    else:
        found["device"] = f"{device.name} ({device.kind})"
    return found


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
