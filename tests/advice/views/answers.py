"""Results of fit, predict and advise, written by hand, for the tests of their views."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from diffprof.advice.scale import ComponentLaw, CurvePoint, FramesPoint, Scaling
from diffprof.laws.variables import Variable
from diffprof.record.advice import Advice, Option
from diffprof.record.fit import Change, Fit, HostMemory, MemoryPeak, StageMemory
from diffprof.record.prediction import PredictedComponent, PredictedTime, Prediction
from diffprof.record.run_settings import RunSettings

GIB = 1024**3
PEAK = MemoryPeak(8 * GIB, 9 * GIB, 10 * GIB, "decode", "vae", "decoder.conv")
HOST = HostMemory(6 * GIB, 2 * GIB, 6 * GIB)

REQUESTED = Option(
    (), "sdxl", RunSettings(), "none", (), 1, 8.0, 7.0, 9.0, 800.0, 0.02, PEAK, HOST, False,
    fit_command="diffprof fit sdxl", predict_command="diffprof predict sdxl",
)  # fmt: skip
QUICK = replace(
    REQUESTED, changes=("20 steps", "batch 4"), risk="medium", risks=("20 steps",), results=4, total_seconds=16.0,
    fits=True, code=("import torch", "result = pipe()"), peak=replace(PEAK, device_bytes=6 * GIB),
)  # fmt: skip
SAFE = replace(REQUESTED, changes=("offload model",), fits=True, total_seconds=12.0)
ADVICE = Advice("sdxl", "l4", "time", REQUESTED, (QUICK, SAFE), 272, usable_bytes=22 * GIB, assumptions=("one", "two"))

STAGES = (
    StageMemory("load", "", "", 5 * GIB, 5 * GIB, 6 * GIB, {"unet": 4 * GIB, "vae": GIB}),
    StageMemory("decode", "vae", "decoder.conv", 8 * GIB, 9 * GIB, 10 * GIB, {"unet": 4 * GIB, "vae": GIB}, 2 * GIB,
                GIB // 2, GIB // 2),
)  # fmt: skip
CHANGE = Change(
    "offload model", RunSettings(offload="model"), (), ("pipe.enable_model_cpu_offload()",), 1.5, PEAK, HOST, True,
    "diffprof fit sdxl --offload model",
)  # fmt: skip
FIT = Fit(
    "sdxl", PEAK, STAGES, HOST, False, (CHANGE,), ("one", "two"), accelerator="t4", memory_bytes=9 * GIB,
    usable_bytes=8 * GIB,
)  # fmt: skip


def predicted_time(seconds: float) -> PredictedTime:
    """A predicted time with a quarter in the VAE, the rest in the UNet, and a tenth in norms."""
    unet = PredictedComponent(0.75 * seconds, 0.5 * seconds, 30, "compute", {"linear": 0.75 * seconds})
    vae = PredictedComponent(0.25 * seconds, 0.1 * seconds, 1, "bandwidth", {"norm": 0.25 * seconds})
    return PredictedTime(
        seconds, 0.9 * seconds, 1.2 * seconds, 0.6 * seconds, 0.01 * seconds, {"unet": unet, "vae": vae}, "compute",
        100 * seconds, None, None, {"linear": 0.75 * seconds, "norm": 0.25 * seconds}, "device",
    )  # fmt: skip


PREDICTION = Prediction(
    "sdxl", RunSettings(), {"l4": predicted_time(8.0), "h100-sxm": predicted_time(2.0)}, ("one", "two")
)

HEIGHT, WIDTH = Variable("height", 8), Variable("width", 8)
TOKENS = ((HEIGHT.name, 1), (WIDTH.name, 1))
SCALING = Scaling(
    model="dit",
    request={"height": 512, "width": 512, "num_inference_steps": 10, "num_frames": 1},
    components=(ComponentLaw("transformer", {(): Fraction(3), TOKENS: Fraction(128)}, {(): Fraction(10)}, {}),),
    variables=(HEIGHT, WIDTH),
    curve=(CurvePoint(512, 512, 1_000, 250, 100, GIB), CurvePoint(1024, 1024, 8_000, 6_000, 800, 4 * GIB)),
    doubled={"height and width": 8.0, "num_inference_steps": 2.0},
    half_attention_side=1024,
    domain={"height": "256 to 2,048 in steps of 8"},
    versions={"torch": "2.8.0"},
    frames=(FramesPoint(1, 100, 0), FramesPoint(81, 900, 450)),
)
