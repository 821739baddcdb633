"""What a shell can complete."""

from __future__ import annotations

from diffprof.cli.completion import accelerator_names, limit_names, model_names


def test_models_accelerators_and_metrics_are_completed_from_their_lists() -> None:
    assert "sdxl" in model_names("sdx")
    assert model_names("no-such") == []
    assert "h100-sxm" in accelerator_names("h100")
    assert all(name.startswith("a100-sxm-80gb,h1") for name in accelerator_names("a100-sxm-80gb,h1"))
    assert {"macs=", "time="} <= set(limit_names(""))
    assert limit_names("macs=+0%,pea") == ["macs=+0%,peak_memory="]
