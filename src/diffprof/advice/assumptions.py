"""The assumptions of a predicted time, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diffprof.advice.abilities import classes_without_plan
from diffprof.advice.dtypes import dtype_assumption, is_in_another_dtype
from diffprof.catalogue.accelerators import Accelerator
from diffprof.catalogue.efficiency import family_of, fitted_numbers
from diffprof.prediction.calibration import Calibration
from diffprof.record.changes import EVERY
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings


def assumptions_of(
    profile: Profile,
    accelerators: Sequence[Accelerator],
    settings: RunSettings,
    calibration: Calibration | None = None,
) -> tuple[str, ...]:
    """The assumptions of a prediction, those of the count last."""
    sentences = (
        *_about_the_call(settings),
        *_about_accelerators(profile, accelerators),
        *_about_devices(profile, settings),
        *_about_the_model(settings),
        *_about_the_record(profile, calibration, accelerators),
    )
    return (*sentences, *profile.ledger.assumptions)


def _about_the_call(settings: RunSettings) -> Iterator[str]:
    yield "one warm call on one device, with nothing else running: weights are loaded, kernels are built"
    mode = "compiled by torch.compile" if settings.compiled else "eager"
    attention = "fused attention" if settings.attention != "math" else "attention that is not fused"
    yield f"diffusers on PyTorch, {mode}, with {attention}; other engines are faster or slower"


def _about_accelerators(profile: Profile, accelerators: Sequence[Accelerator]) -> Iterator[str]:
    numbers = fitted_numbers()
    unknown = [
        entry.name
        for entry in accelerators
        if family_of(entry) not in numbers.families and not numbers.is_known(entry) and not entry.measured
    ]
    if unknown:
        yield f"no times of {', '.join(unknown)} or their families were available: the intervals are wide"
    yield from _about_dtypes(profile, accelerators)
    for entry in accelerators:
        line = dtype_assumption(profile, entry) if is_in_another_dtype(profile) else None
        if line:
            yield line


def _about_devices(profile: Profile, settings: RunSettings) -> Iterator[str]:
    if settings.offload.startswith("group") and not settings.use_stream:
        yield "groups travel from ordinary memory of the host before they run, and back after it"
    elif settings.offload != "none":
        yield _OFFLOADS[settings.offload]
    if settings.devices > 1:
        yield (
            f"the denoiser's sequence is shared by {settings.devices} devices, which exchange queries, keys and values "
            "over NVLink where the board has it, else over the host's link; energy and price are of all of them"
        )
        for name in classes_without_plan(profile):
            yield f"diffusers has no plan to split {name}: enable_parallelism needs a cp_plan of your own"


def _about_the_model(settings: RunSettings) -> Iterator[str]:
    if settings.without:
        yield f"{', '.join(settings.without)}: not loaded and not called"
    if settings.skip_rate:
        yield f"a cache skips {settings.skip_rate:.0%} of the denoiser's calls, and costs nothing itself"
    for component, scheme in settings.quantize.items():
        whose = "denoisers and text encoders" if component == EVERY else component
        yield f"the linear layers of {whose} are in {scheme}: all else computes as before"
    for component, dtype in settings.layerwise.items():
        whose = "denoisers" if component == EVERY else component
        yield f"the layers of {whose} are kept in {dtype} and cast for each use"


def _about_the_record(
    profile: Profile, calibration: Calibration | None, accelerators: Sequence[Accelerator]
) -> Iterator[str]:
    if calibration is not None:
        name = calibration.accelerator.name
        if any(entry.name == name for entry in accelerators):
            yield f"{name} is corrected by a measured run of {calibration.model}"
        else:
            yield f"the measured run of {calibration.model} corrects nothing here: it was made on {name}"
    if not any(operation.strided_bytes for call, _ in profile.costs() for operation in call.cost.operations):
        yield "how tensors lie in memory was not recorded: none is taken to be transposed"


_OFFLOADS = {
    "model": "components travel from ordinary memory of the host before their first call, and back after the last",
    "sequential": "every layer's weights travel from ordinary memory of the host for each call",
    "group": "blocks travel from pinned memory of the host while the one before computes, on their own stream",
    "group-leaf": "layers travel from pinned memory of the host while the one before computes, on their own stream",
}


def _about_dtypes(profile: Profile, accelerators: Sequence[Accelerator]) -> Iterator[str]:
    used = {op.dtype for call, _ in profile.costs() for op in call.cost.operations if op.work.macs}
    for dtype in sorted(used & {"bfloat16", "float16"}):
        lacking = [entry.name for entry in accelerators if dtype not in entry.peak_flops_per_second]
        if lacking:
            yield f"{', '.join(lacking)} cannot compute in {dtype}: taken at the speed of float32"
