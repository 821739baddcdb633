"""What advice asks of a model, and no law answers, is what is kept as it was counted."""

from __future__ import annotations

from calibration.record_requests import advised_requests, common_requests


def test_what_is_kept_is_what_advice_asks_and_no_law_answers() -> None:
    requests = advised_requests("sd-2.1-base")
    assert all(request.model == "sd-2.1-base" for request in requests)
    switches = {request.enable for request in requests}
    schedulers = {request.scheduler for request in requests}
    assert ("vae_tiling",) in switches
    assert "DPMSolverMultistepScheduler" in schedulers
    # Fewer steps alone are said by the law.
    assert not [one for one in requests if not (one.enable or one.scheduler or one.changes.non_empty)]


def test_common_requests_of_a_model_are_those_that_its_law_leaves_out() -> None:
    assert {request.arguments["height"] for request in common_requests("flux.1-dev") if "height" in request.arguments}
    assert common_requests("sd-2.1-base") == []
