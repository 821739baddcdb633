"""Any number of profiles in one table."""

from __future__ import annotations

from diffprof.comparison.counts import METRICS
from diffprof.comparison.overview import overview
from tests.comparison.noise import SECOND, run_of
from tests.sample_profiles import TEXT_ENCODER_MACS, UNET_MACS, VAE_MACS, stable_diffusion


def test_a_counted_profile_has_its_metrics_and_no_time() -> None:
    (row,) = overview([stable_diffusion()], ["a"])
    assert (row.name, row.model, row.pipeline) == ("a", "sd-2.1-base", "StableDiffusionPipeline")
    assert list(row.figures) == list(METRICS)
    assert row.figures["macs"] == 31 * UNET_MACS + VAE_MACS + 2 * TEXT_ENCODER_MACS
    assert row.components == {"unet": 31 * UNET_MACS, "vae": VAE_MACS, "text_encoder": 2 * TEXT_ENCODER_MACS}
    assert row.call is None


def test_the_time_of_a_run_is_that_of_its_timed_iterations() -> None:
    rows = overview([stable_diffusion(), run_of([3 * SECOND, SECOND, 5 * SECOND], warmups=[9 * SECOND])], ["a", "b"])
    assert [row.name for row in rows] == ["a", "b"]
    call = rows[1].call
    assert call is not None
    assert (call.count, call.min_ns, call.median_ns, call.max_ns) == (3, SECOND, 3 * SECOND, 5 * SECOND)
