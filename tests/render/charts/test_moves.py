"""The weights that offloading moved in each denoising step."""

from __future__ import annotations

from dataclasses import replace

from diffprof.record.measured import DEVICE_TO_HOST, HOST_TO_DEVICE, Move
from diffprof.render.charts import moves_chart
from tests.sample_iterations import GPU, iteration_on
from tests.sample_profiles import measured_profile


def test_each_component_has_a_bar_of_its_bytes_in_each_step() -> None:
    moves = (
        Move("unet", HOST_TO_DEVICE, 700, 0, 5, step=0),
        Move("unet", DEVICE_TO_HOST, 300, 10, 5, step=0),
        Move("unet", HOST_TO_DEVICE, 700, 20, 5, step=1),
        Move("vae", HOST_TO_DEVICE, 40, 30, 5),
    )
    chart = moves_chart(measured_profile(device=GPU, iterations=[replace(iteration_on(GPU), moves=moves)]))
    assert {bar.name: dict(zip(bar.x, bar.y, strict=True)) for bar in chart.data} == {
        "unet": {"0": 1_000, "1": 700},
        "vae": {"outside": 40},
    }
    assert chart.layout.xaxis.categoryarray == ("outside", "0", "1")
    assert "1.00 KB, 1 in, 1 out" in next(bar for bar in chart.data if bar.name == "unet").hovertext[0]
