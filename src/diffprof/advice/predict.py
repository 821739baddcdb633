"""Predict how long a generation takes on accelerators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from diffprof.advice.abilities import check_sharing
from diffprof.advice.assumptions import assumptions_of
from diffprof.advice.dtypes import dtype_on
from diffprof.advice.sources import open_source
from diffprof.catalogue.accelerators import ALL, Accelerator, find_accelerator
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.errors import RequestError
from diffprof.prediction.calibration import Calibration, calibrate_on
from diffprof.prediction.device import basis_of, device_of
from diffprof.prediction.device_memory import device_memory
from diffprof.prediction.memory_on_devices import MemoryOnDevices
from diffprof.prediction.on_accelerator import USUAL
from diffprof.prediction.time import Job, job_of, predict_time
from diffprof.prediction.timeline import has_allocations
from diffprof.record.execution import execution_of
from diffprof.record.prediction import PredictedTime, Prediction
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings
from diffprof.settings.limits import dtype_name


@dataclass(frozen=True)
class PredictionRequest:
    """The accelerators, and how the pipeline runs on them."""

    accelerators: tuple[str, ...] = ()
    """Names of accelerators; empty for the usual ones, or for the machine of the measured run."""
    settings: RunSettings = field(default_factory=RunSettings)
    usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    """Dollars per hour by accelerator; the price under ``""`` is for all others."""
    file: Path | None = None
    """A file with the user's own accelerators."""
    dtype: str | None = None
    """The requested dtype; accelerators that do not support it are refused."""


def predict_profile(
    profile: Profile, request: PredictionRequest | None = None, measured: Profile | None = None
) -> Prediction:
    """Predict the time of a profile's generation; a `measured` run corrects the prediction for its machine."""
    request = request or PredictionRequest()
    known = known_accelerators(request.file)
    calibration = calibrate_on(measured, known) if measured is not None else None
    chosen = _choose_accelerators(request, known, calibration)
    for accelerator in chosen:
        _check_dtype(accelerator, request.dtype)
    request = replace(request, usd_per_hour=_prices(request, known, chosen))
    job = job_of(profile, request.settings)
    check_sharing(profile, job.settings)
    needed = MemoryOnDevices(profile, job.settings) if has_allocations(profile) else None
    times = {}
    for entry in chosen:
        fits = None if needed is None else needed.fits(device_memory(entry))
        times[entry.name] = replace(_time_on(entry, job, request, calibration), fits=fits)
    return Prediction(
        model=profile.request.model,
        settings=request.settings,
        accelerators=times,
        assumptions=assumptions_of(profile, chosen, request.settings, calibration),
        request=profile.request,
        execution=execution_of(profile),
    )


def check_request(request: PredictionRequest) -> None:
    """Refuse accelerators that are unknown, or do not support the dtype, before anything is counted."""
    if request.accelerators and ALL not in request.accelerators:
        for name in request.accelerators:
            _check_dtype(find_accelerator(name, known_accelerators(request.file)), request.dtype)


def _choose_accelerators(
    request: PredictionRequest, known: Sequence[Accelerator], calibration: Calibration | None
) -> list[Accelerator]:
    if ALL in request.accelerators:
        return list(known)
    if not request.accelerators and calibration is not None:
        return [calibration.accelerator]
    own = [calibration.accelerator] if calibration is not None else []
    names = {entry.name for entry in own}
    among = [*own, *(entry for entry in known if entry.name not in names)]
    found = [find_accelerator(name, among) for name in request.accelerators or USUAL]
    return list({entry.name: entry for entry in found}.values())


def _check_dtype(accelerator: Accelerator, dtype: str | None) -> None:
    peaks = accelerator.peak_flops_per_second
    if dtype is None or dtype in peaks or dtype == "float64":
        return
    usable = [name for name in peaks if name in MODEL_DTYPES]
    raise RequestError(f"{accelerator.name} does not compute in {dtype}; use {' or '.join(usable)}.")


MODEL_DTYPES = ("float32", "float16", "bfloat16")
"""The dtypes that a model can be loaded in; an accelerator has peaks of others, too."""


def _prices(
    request: PredictionRequest, known: Sequence[Accelerator], chosen: Sequence[Accelerator]
) -> Mapping[str, float]:
    """The prices by the short names of accelerators, which may be written as in --gpu."""
    names = {entry.name for entry in chosen}
    among = [*chosen, *(entry for entry in known if entry.name not in names)]
    prices: dict[str, float] = {}
    for name, price in request.usd_per_hour.items():
        short = find_accelerator(name, among).name if name else ""
        if short and short not in names:
            raise RequestError(f"There is a price for {short}, but no prediction; name it with --gpu as well.")
        if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < float("inf"):
            raise RequestError(f"A price must be a number of dollars per hour, not {price!r}.")
        prices[short] = price
    return prices


def _time_on(
    accelerator: Accelerator,
    job: Job,
    request: PredictionRequest,
    calibration: Calibration | None,
) -> PredictedTime:
    prices = request.usd_per_hour
    is_own = calibration is not None and calibration.accelerator.name == accelerator.name
    return predict_time(
        job,
        calibration.device if is_own and calibration is not None else device_of(accelerator),
        basis="measured" if is_own or accelerator.measured else basis_of(accelerator),
        factors=calibration.factors if is_own and calibration is not None else None,
        usd_per_hour=prices.get(accelerator.name, prices.get("")),
    )


def predict(
    model: Any,
    *,
    gpu: str | Sequence[str] = (),
    compile: bool = False,
    offload: str = "none",
    use_stream: bool = True,
    blocks_per_group: int = 1,
    quantize: str | Mapping[str, str] | None = None,
    layerwise: str | Mapping[str, str] | None = None,
    drop_text_encoders: bool = False,
    attention: str = "sdpa",
    devices: int = 1,
    skip_rate: float = 0.0,
    without: str | Sequence[str] = (),
    price: float | Mapping[str, float] | None = None,
    profile: Profile | str | Path | None = None,
    dtype: Any = None,
    scheduler: str | None = None,
    enable: Sequence[str] = (),
    **arguments: Any,
) -> Prediction:
    """Predict how long one call of a pipeline takes on accelerators, which need not be present.

    `model` is a name, a hub id, a folder, a saved profile or its file, or a live pipeline; `gpu` are names of
    accelerators; `profile` is a measured run that corrects the prediction for its machine. All other arguments are
    those of `diffprof.profile`: those of the pipeline's own call, ``steps``, `lora`, `guidance_interval` and the like.
    """
    settings = RunSettings.create(
        offload=offload, use_stream=use_stream, blocks_per_group=blocks_per_group, quantize=quantize,
        layerwise=layerwise, drop_text_encoders=drop_text_encoders, attention=attention, compiled=compile,
        devices=devices, skip_rate=skip_rate, without=without,
    )  # fmt: skip
    prices = price if isinstance(price, Mapping) else {} if price is None else {"": price}
    several = gpu.split(",") if isinstance(gpu, str) else gpu
    names = tuple(several) if isinstance(several, Sequence) else (several,)
    request = PredictionRequest(names, settings, prices, dtype=dtype_name(dtype))
    known = () if profile is not None else [find_accelerator(name) for name in names if name != ALL]
    dtype = dtype_on(model, dtype, known)
    counted = open_source(model, arguments, dtype=dtype, scheduler=scheduler, enable=enable).profile
    return predict_profile(counted, request, open_source(profile).profile if profile is not None else None)
