"""The checks of ``diffprof doctor`` on calls: measuring does not change them, and their counts are right."""

from __future__ import annotations

import gc
import importlib.util
import subprocess
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from diffprof.counting.profile import profile_call
from diffprof.runtime.doctor_model import CALL, DoctorModel, Skipped, measured_image, measured_run, require
from diffprof.runtime.measure import measuring
from diffprof.runtime.repetition import CUDA_GRAPH_WARMUPS
from diffprof.settings.limits import OFFLOADS


def equal_images(model: DoctorModel) -> str:
    """Images before, during and after a measured call must be equal."""
    pipeline = model.pipeline()
    alone = [model.call(pipeline) for _ in range(2)]
    if not torch.equal(*alone):
        raise Skipped("this device is not deterministic: two calls without measuring differ")
    profile_call(pipeline, CALL)
    with measuring(pipeline):
        watched = model.call(pipeline)
    require(torch.equal(alone[0], watched), "the image of a measured call differs from that of an unwatched one")
    require(torch.equal(alone[0], model.call(pipeline)), "the image after a measured call differs")
    return "bit by bit, before, during and after"


def counts(model: DoctorModel) -> str:
    """The counts must equal those of torch's FlopCounterMode."""
    pipeline = model.pipeline()
    run = measured_run(model, pipeline)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model.call(pipeline)
    counted, executed = run.profile.total.macs, counter.get_total_flops() // 2
    require(counted == executed, f"{counted:,} MACs were counted and {executed:,} executed")
    return f"{counted:,} MACs"


def compiled_code(model: DoctorModel) -> str:
    """Measuring must not cause recompilation; checked with a backend that only counts graphs."""
    graphs = {"compiled": 0, "executed": 0}

    def backend(graph: Any, inputs: Any) -> Callable[..., Any]:
        graphs["compiled"] += 1

        def execute(*args: Any) -> Any:
            graphs["executed"] += 1
            return graph.forward(*args)

        return execute

    pipeline = model.pipeline()
    pipeline.vae.decoder = torch.compile(pipeline.vae.decoder, backend=backend)
    model.call(pipeline)
    before = dict(graphs)
    require(before["executed"] > 0, "nothing was compiled")
    measured_run(model, pipeline)
    model.call(pipeline)
    require(graphs["compiled"] == before["compiled"], "measuring made torch compile again")
    require(graphs["executed"] == 3 * before["executed"], "measuring made compiled code run uncompiled")
    return f"{before['compiled']} compiled, and not again"


def cuda_graphs(model: DoctorModel) -> str:
    """CUDA graphs of the VAE's last block, from ``torch.compile(mode="reduce-overhead")``, must still be replayed."""
    if model.place.type != "cuda":
        raise Skipped("only CUDA and ROCm have such graphs")
    if importlib.util.find_spec("triton") is None:
        raise Skipped("triton, which torch.compile needs, is not installed")
    pipeline = model.pipeline()
    block = torch.compile(pipeline.vae.decoder.mid_block, mode="reduce-overhead")
    pipeline.vae.decoder.mid_block = block
    for _ in range(CUDA_GRAPH_WARMUPS):
        alone = model.call(pipeline)
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    watched, _ = measured_image(model, pipeline)
    require(torch.equal(alone, watched), "the image of a measured call differs from that of an unwatched one")
    require(torch.equal(alone, model.call(pipeline)), "the image after a measured call differs")
    again = torch._dynamo.utils.counters["stats"]["unique_graphs"] - compiled
    require(not again, f"measuring made torch compile {again} graphs")
    return "the image without, and nothing is compiled again"


def foreign_cache(model: DoctorModel) -> str:
    """A cache like those of other libraries, which replaces `forward` and skips every second step, is counted."""
    pipelines = [model.pipeline() for _ in range(2)]
    for pipeline in pipelines:
        _skip_every_second_call(pipeline.unet)
    alone = model.call(pipelines[0])
    with measuring(pipelines[1], sample_hz=1) as run:
        watched = model.call(pipelines[1])
    require(torch.equal(alone, watched), "the image of a measured call differs from that of an unwatched one")
    counter = FlopCounterMode(display=False)
    fresh = model.pipeline()
    _skip_every_second_call(fresh.unet)
    with counter, sdpa_kernel(SDPBackend.MATH):
        model.call(fresh)
    counted, executed = run.profile.total.macs, counter.get_total_flops() // 2
    require(counted == executed, f"{counted:,} MACs were counted and {executed:,} executed")
    return f"{counted:,} MACs were executed"


def _skip_every_second_call(model: Any) -> None:
    whole_forward, kept, number = model.forward, None, 0

    def forward(*args: Any, **kwargs: Any) -> Any:
        nonlocal kept, number
        number += 1
        if kept is None or number % 2:
            kept = whole_forward(*args, **kwargs)
        return kept

    # With the globals of another module, because code of diffprof itself would be recognized.
    elsewhere = {"__name__": "another_library"}
    model.forward = types.FunctionType(forward.__code__, elsewhere, "forward", None, forward.__closure__)


def offload_modes(model: DoctorModel) -> str:
    """Every kind of offload on this device must give the same image, and its moves must be recorded."""
    plain = model.pipeline()
    place = torch.device(plain._execution_device)
    image, ways = model.call(plain), ("group",) if place.type == "cpu" else OFFLOADS
    for way in ways:
        pipeline = model.pipeline(offload=way)
        run_image, run = measured_image(model, pipeline)
        require(torch.equal(image, run_image), f"the image with {way} offload differs")
        measured = run.profile.measured
        moves = measured.iterations[0].moves if measured else ()
        require(place.type == "cpu" or bool(moves), f"no move of weights was seen with {way} offload")
    return f"{', '.join(ways)}: the image without"


def autocast(model: DoctorModel) -> str:
    """Autocast around the call must give the same image, and its dtype must be reported."""
    pipeline = model.pipeline()
    place = torch.device(pipeline._execution_device)
    if place.type == "cpu" and not _can_multiply("bfloat16"):
        raise Skipped("torch itself ends with an error when this processor multiplies in bfloat16")
    with torch.autocast(place.type, torch.bfloat16):
        alone = model.call(pipeline)
        watched, run = measured_image(model, pipeline)
    require(torch.equal(alone, watched), "the image of a measured call differs from that of an unwatched one")
    dtype = run.profile.components["unet"].dtype
    require(dtype == "bfloat16", f"the UNet is reported to compute in {dtype}")
    return "bfloat16 is seen"


def _can_multiply(dtype: str) -> bool:
    """Tested in a separate process, because a CPU that reports instructions it does not support kills it."""
    code = f"import torch; x = torch.ones(64, 64, dtype=torch.{dtype}); x @ x"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def generator_of_device(model: DoctorModel) -> str:
    """A generator on the device must work, and must not be advanced by counting."""
    pipeline = model.pipeline()
    place = torch.device(pipeline._execution_device)
    generator = torch.Generator(place).manual_seed(7)
    before = generator.get_state()
    profile_call(pipeline, {**CALL, "generator": generator})
    require(torch.equal(before, generator.get_state()), "the generator was advanced")
    return f"torch.Generator({str(place)!r})"


def random_state(model: DoctorModel) -> str:
    """Counting must not draw random numbers of the device."""
    pipeline = model.pipeline()
    place = torch.device(pipeline._execution_device)
    torch.manual_seed(7)
    expected = torch.rand(4, device=place)
    torch.manual_seed(7)
    profile_call(pipeline, CALL)
    require(torch.equal(expected, torch.rand(4, device=place)), "counting drew random numbers of the device")
    return str(place)


def freed_memory(model: DoctorModel) -> str:
    """``del pipe`` must free the weights, even if the run is kept."""
    pipeline = model.pipeline()
    run = measured_run(model, pipeline)
    weights = weakref.ref(pipeline.unet)
    del pipeline
    gc.collect()
    require(weights() is None, "a run that was kept keeps the weights in memory")
    require(run.profile.total.macs > 0, "the run cannot be read any more")
    return "a run that is kept does not keep the weights"
