"""A made-up pipeline small enough to work out by hand, and the program that is fitted to samples of it.

Its denoiser has two blocks with two linear layers of 4 x 4 each, on height/8 x width/8 tokens of 4 channels in float16;
the second block executes an operation without a formula too, and there is attention with one head.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from diffprof.laws.events import with_differences
from diffprof.laws.fitting import Fitter
from diffprof.laws.folding import fold
from diffprof.laws.packing import FittedProgram, fit_program, pack_programs
from diffprof.laws.programs import Program
from diffprof.laws.variables import Variable
from diffprof.record.allocations import ALLOCATE, CALL, OPERATION, RELEASE

VARIABLES = (Variable("height", 8), Variable("width", 8), Variable("num_inference_steps"))
BASE = {"height": 64, "width": 80, "num_inference_steps": 5}


def make_samples() -> tuple[list[dict[str, int]], dict[str, list[int]]]:
    """Requests along each axis, and some that change everything."""
    samples, axes = [BASE], {}
    for source, values in {
        "height": (72, 96, 104, 128), "width": (88, 96, 112, 136), "num_inference_steps": (3, 7, 8),
    }.items():  # fmt: skip
        axes[source] = [0, *range(len(samples), len(samples) + len(values))]
        samples += [{**BASE, source: value} for value in values]
    others = [(72, 88, 3), (96, 136, 7), (104, 112, 2), (128, 96, 9)]
    return [*samples, *(dict(zip(BASE, other, strict=True)) for other in others)], axes


SAMPLES, AXES = make_samples()
FITTER = Fitter(SAMPLES, AXES, VARIABLES)


def program_values(height: int, width: int, num_inference_steps: int) -> dict[str, Any]:
    """What the pipeline executes for a request, as `counting.derivation` writes it down."""
    tokens = (height // 8) * (width // 8)
    inputs = (("hidden_states", (((1, tokens, 4), "float16"),)),)
    call = ("transformer", "forward", inputs, 0, 1, 0)
    return {
        "request": ("small", "object", "SmallPipeline", "float16"),
        "parameters": (("prompt", None), ("height", None), ("width", None), ("num_inference_steps", 20), ("eta", 0.0)),
        "stand_ins": (("prompt", "a photo", True),),
        "sizes": (("height", height // 8 * 8), ("width", width // 8 * 8)),
        "decoded": (("height", height // 8 * 8), ("width", width // 8 * 8)),
        "assumptions": ("The tokenizer is a stand-in.",),
        "components": (
            ("transformer", "Net", "denoiser", "float16", 32, 0, 64, (("float16", 64),),
             (("blocks.0", "Block", 16), ("blocks.1", "Block", 16))),
        ),
        "stages": ("DDIMScheduler",),
        "calls": fold([*[call] * num_inference_steps, ("pipeline", "__call__", (), None, 0, 1)]),
        "costs": (denoiser_values(tokens), own_code_values(num_inference_steps)),
        "texts": (("text_encoder", "CLIPTokenizer", 7, 77, True),),
        "placement": (("transformer",), ()),
    }  # fmt: skip


def denoiser_values(tokens: int) -> dict[str, Any]:
    """One call of the denoiser."""
    row = ("addmm", "linear", ((tokens, 4), (4, 4)), ((tokens, 4),), "float16")
    linear = (row, 16 * tokens, 0, 2 * (4 * tokens + 16), 8 * tokens, 0)
    other = (("fancy", "unknown", ((tokens, 4),), ((tokens, 4),), "float16"), 0, 0, 8 * tokens, 8 * tokens, 8)
    site = ("blocks.*", "self", 1, tokens, tokens, 1, 1, 4, 4, False, False)
    attention = (*site, 1, 4 * tokens * tokens, 5 * tokens * tokens, 4 * tokens * tokens, True)
    events = [
        (ALLOCATE, 8 * tokens, 2), (OPERATION, row, 0), (ALLOCATE, 16 * tokens, 0), (RELEASE, 2, 0),
        (ALLOCATE, 1024, 2), (RELEASE, 2, 0), (RELEASE, 1, 0),
    ]  # fmt: skip
    return {
        "call": ("transformer", "forward"),
        "has_peak": True,
        "modules": (
            ("", "Net", 1, ()),
            ("blocks.0", "Block", 1, ((linear, 2),)),
            ("blocks.1", "Block", 1, ((linear, 2), (other, 1))),
        ),
        "attention": (attention, attention),
        "events": fold(list(with_differences(events))),
    }


def own_code_values(steps: int) -> dict[str, Any]:
    """What the pipeline does itself: it makes its calls."""
    return {
        "call": ("pipeline", "__call__"),
        "has_peak": False,
        "modules": (("", "SmallPipeline", 1, ()),),
        "attention": (),
        "events": fold([(ALLOCATE, 64, 0), *[(CALL, 0, 0)] * steps, (RELEASE, 1, 0)]),
    }


@cache
def small_fitted() -> FittedProgram:
    """The pipeline with a polynomial for each of its numbers."""
    return fit_program([program_values(**sample) for sample in SAMPLES], FITTER)


@cache
def small_program() -> Program:
    """The program of the pipeline."""
    (program,) = pack_programs([small_fitted()])
    return program
