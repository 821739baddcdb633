"""What plans take, worked out once each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.advice import evaluating
from diffprof.advice.alternatives import Alternative, Plan
from diffprof.advice.evaluating import Evaluator
from diffprof.advice.outcome import Outcome
from diffprof.advice.sources import Source
from diffprof.catalogue.accelerators import Accelerator, find_accelerator
from diffprof.errors import RequestError
from diffprof.prediction.device import device_of
from diffprof.prediction.device_memory import device_memory
from diffprof.prediction.memory_on_devices import peak_of_stages
from diffprof.prediction.time import job_of, predict_time
from diffprof.record.fit import HostMemory, StageMemory
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion

T4 = find_accelerator("t4")
REQUEST = Request("sd-2.1-base")
SHORT = Request("sd-2.1-base", {"num_inference_steps": 10})
HOST = HostMemory(0, 0, 0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RunSettings]:
    """The settings whose memory was worked out: that is slow, and here always fits."""
    found: list[RunSettings] = []

    def outcome_of(profile: Profile, settings: RunSettings, *rest: Any) -> Outcome:
        found.append(settings)
        stages = (StageMemory("decode", "vae", "", 1, 2, 3),)
        return Outcome(stages, peak_of_stages(stages), HOST, True)

    monkeypatch.setattr(evaluating, "outcome_of", outcome_of)
    monkeypatch.setattr(evaluating, "fitting_outcome", outcome_of)
    return found


def evaluator(price: float | None = None, device: Accelerator = T4) -> Evaluator:
    def count(request: Request) -> Profile:
        if request != SHORT:
            raise RequestError("cannot")
        counted = stable_diffusion(steps=10, unet_calls=11)
        return replace(counted, request=replace(counted.request, defaults={"num_images_per_prompt": 4}))

    return Evaluator(Source(stable_diffusion(), REQUEST, count), RunSettings(), device, None, price)


def plan(request: Request = REQUEST, settings: RunSettings | None = None, *parts: Alternative) -> Plan:
    return Plan(parts, request, settings or RunSettings())


@pytest.mark.usefixtures("asked")
def test_the_time_is_the_predicted_one_of_one_result() -> None:
    one = evaluator().evaluate(plan(SHORT))
    assert one is not None and one.fits
    assert one.time.total_seconds == predict_time(job_of(one.profile), device_of(T4), one.time.basis).total_seconds
    assert one.seconds == one.time.total_seconds / 4


def test_memory_that_is_known_is_not_worked_out_again(asked: list[RunSettings]) -> None:
    known = evaluator()
    for settings in (
        RunSettings(),
        RunSettings(compiled=True),
        RunSettings(skip_rate=0.3),
        RunSettings(offload="model"),
    ):
        known.evaluate(plan(settings=settings))
    assert asked == [RunSettings(), RunSettings(offload="model")]


@pytest.mark.usefixtures("asked")
def test_a_plan_that_the_pipeline_cannot_do_is_none() -> None:
    assert evaluator().evaluate(plan(Request("other"))) is None
    assert evaluator().evaluate(plan(settings=RunSettings(quantize={"transformer": "torchao:int8"}))) is None


@pytest.mark.usefixtures("asked")
def test_an_option_says_how_to_have_its_figures_again() -> None:
    known = evaluator(price=0.5)
    steps = Alternative("10 steps", "steps", "medium", rewrite=lambda own: SHORT)
    one = known.evaluate(plan(SHORT, RunSettings(offload="model"), steps))
    assert one is not None
    option = known.option(one, on_front=True)
    assert (option.changes, option.risk, option.risks, option.on_front) == (
        ("10 steps",),
        "medium",
        ("10 steps",),
        True,
    )
    assert option.fit_command == "diffprof fit sd-2.1-base --steps 10 --offload model --gpu t4"
    assert option.predict_command.endswith("--gpu t4 --price 0.5")
    assert option.price_usd == pytest.approx(0.5 * option.total_seconds / 3600)


@pytest.mark.usefixtures("asked")
def test_tiles_and_fewer_steps_are_not_counted_together_until_they_are_shown() -> None:
    counted: list[Request] = []

    def count(request: Request) -> Profile:
        counted.append(request)
        return stable_diffusion(steps=10, unet_calls=11) if "num_inference_steps" in request.arguments else profile

    profile = stable_diffusion()
    known = Evaluator(Source(profile, REQUEST, count), RunSettings(), T4, None, None)
    tiling = Alternative("vae tiling", "vae_tiling", rewrite=lambda own: replace(own, enable=("vae_tiling",)))
    steps = Alternative("10 steps", "steps", rewrite=lambda own: own.with_arguments({"num_inference_steps": 10}))
    both = replace(SHORT, enable=("vae_tiling",))
    one = known.evaluate(plan(both, None, tiling, steps))
    assert one is not None and not one.is_exact and both not in counted
    exact = known.exact(one)
    assert exact is not None and exact.is_exact and both in counted
    assert one.time.total_seconds == pytest.approx(exact.time.total_seconds)
    assert one.time.energy_joules == pytest.approx(exact.time.energy_joules)


@pytest.mark.usefixtures("asked")
def test_all_devices_are_paid_for() -> None:
    one = evaluator().evaluate(plan(settings=RunSettings(devices=2)))
    assert one is not None and one.device_seconds == 2 * one.seconds


TILING = Alternative("vae tiling", "vae_tiling", rewrite=lambda own: replace(own, enable=("vae_tiling",)))
SMALLER = RunSettings(quantize={"unet": "bitsandbytes:nf4"})


def small_unet() -> Plan:
    return plan(REQUEST, SMALLER, Alternative("quantize unet=nf4", "weights"))


def test_memory_is_estimated_until_a_plan_would_be_shown(asked: list[RunSettings]) -> None:
    known = evaluator()
    base = known.evaluate(plan())
    found = known.evaluate(small_unet())
    assert base is not None and base.is_exact
    assert found is not None and not found.is_exact and asked == [RunSettings()]
    exact = known.exact(found)
    assert exact is not None and exact.is_exact and asked == [RunSettings(), found.settings]
    assert known.exact(exact) is exact


def test_a_plan_that_is_too_large_after_all_keeps_its_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    known = evaluator()
    simulate_with(monkeypatch, fits=False)
    found = known.evaluate(small_unet())
    assert found is not None and found.fits
    exact = known.exact(found)
    assert exact is not None and not exact.fits and not exact.is_exact
    assert exact.peak == found.peak
    again = known.exact(exact)  # what comes nearest is shown with all that it needs
    assert again is not None and again.is_exact


def simulate_with(monkeypatch: pytest.MonkeyPatch, fits: bool) -> None:
    """Let memory fit before it is simulated with the capacity of the device."""

    def outcome_of(*given: Any) -> Outcome:
        stages = (StageMemory("decode", "vae", "", 1, 2, 3),)
        return Outcome(stages, peak_of_stages(stages), HOST, True)

    monkeypatch.setattr(evaluating, "outcome_of", outcome_of)
    monkeypatch.setattr(evaluating, "fitting_outcome", lambda *given: outcome_of() if fits else None)


WEIGHTS = 2_580_000_000
KEEPING = {
    "drop text encoders": RunSettings(drop_text_encoders=True),
    "quantize text_encoder=nf4": RunSettings(quantize={"text_encoder": "bitsandbytes:nf4"}),
    "offload group-leaf": RunSettings(offload="group-leaf"),
    "offload group": RunSettings(offload="group"),
    "offload sequential": RunSettings(offload="sequential"),
}


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[RunSettings]:
    """The settings whose memory was simulated: all weights, and a gigabyte of tensors."""
    found: list[RunSettings] = []

    def outcome_of(profile: Profile, settings: RunSettings, *rest: Any) -> Outcome:
        found.append(settings)
        size = WEIGHTS + 10**9
        stage = StageMemory("denoise", "unet", "", size, size, size + device_memory(T4).context_bytes, {}, 10**9)
        return Outcome((stage,), peak_of_stages((stage,)), HOST, True)

    monkeypatch.setattr(evaluating, "outcome_of", outcome_of)
    return found


def test_plans_that_another_beats_are_not_promising(simulated: list[RunSettings]) -> None:
    # Fast enough for sequential offload to take far longer than the computation.
    known = evaluator(device=find_accelerator("v100-sxm2-16gb"))
    plans = [plan(REQUEST, settings, Alternative(name, name)) for name, settings in KEEPING.items()]
    kept = known.promising([plan(), *plans], [])
    assert [one.names for one in kept] == [(), ("drop text encoders",), ("offload group-leaf",)]
    assert simulated == [RunSettings()]


@pytest.mark.usefixtures("simulated")
def test_a_plan_that_alone_can_be_made_faster_is_kept() -> None:
    known = evaluator()
    plans = [plan(REQUEST, settings, Alternative(name, name)) for name, settings in KEEPING.items()][:2]
    compiling = Alternative("compile", "compile", needs=lambda own: not own.drop_text_encoders)
    assert len(known.promising(plans, [])) == 1
    assert len(known.promising(plans, [compiling])) == 2


@pytest.mark.usefixtures("simulated")
def test_a_plan_may_fit_if_its_tensors_do_or_could_in_tiles() -> None:
    small = replace(T4, memory_bytes=3 * 10**9)
    known = Evaluator(evaluator().source, RunSettings(), small, None, None)
    assert known.may_fit(plan(), can_tile=False)  # what was asked is answered in any case
    resident = plan(REQUEST, RunSettings(compiled=True), Alternative("compile", "compile"))
    assert not known.may_fit(resident, can_tile=True)  # denoising takes most
    assert known.may_fit(plan(REQUEST, KEEPING["offload group-leaf"], TILING), can_tile=False)


@pytest.mark.usefixtures("simulated")
def test_another_model_that_does_not_fit_is_no_option() -> None:
    large = replace(
        stable_diffusion(),
        components={slot: replace(part, weight_bytes=10**10) for slot, part in stable_diffusion().components.items()},
    )
    other = Alternative("another", "model", "high", rewrite=lambda own: SHORT)
    own = Source(stable_diffusion(), REQUEST, lambda request: large)
    assert Evaluator(own, RunSettings(), T4, None, None).evaluate(plan(SHORT, None, other)) is None
    assert evaluator().evaluate(plan(SHORT, None, other)) is not None


@pytest.mark.usefixtures("asked")
def test_several_images_are_worthwhile_only_if_each_takes_less_time() -> None:
    known = evaluator()
    alone = known.evaluate(plan())
    several = plan(SHORT, None, Alternative("batch 4", "batch", rewrite=lambda own: SHORT))
    assert alone is not None and known.is_worthwhile_batch(several, alone)
    found = known.evaluate(several)
    assert found is not None and not known.is_worthwhile_batch(several, found)
    assert not known.is_worthwhile_batch(plan(Request("other")), alone)
