"""Predicted memory as a page."""

from __future__ import annotations

from diffprof.advice.views.fit_page import fit_html
from diffprof.record.fit import Change, Fit, HostMemory, MemoryPeak
from diffprof.record.run_settings import RunSettings

PEAK = MemoryPeak(allocated_bytes=2, reserved_bytes=3, device_bytes=4, stage="decode", component="vae", module="conv")
HOST = HostMemory(peak_bytes=5, pinned_bytes=0, load_bytes=5)


def test_every_line_of_code_is_a_line_of_the_page() -> None:
    code = ("pipe.vae.enable_tiling()", "pipe.enable_model_cpu_offload()")
    change = Change("tiling", RunSettings(), (), code, 1.05, PEAK, HOST, fits=True, command="diffprof fit m")

    page = fit_html(Fit("m", PEAK, (), HOST, fits=False, changes=(change,)))

    assert "<code>pipe.vae.enable_tiling()</code><code>pipe.enable_model_cpu_offload()</code>" in page


def test_names_from_a_file_never_become_markup() -> None:
    assert "<script>alert" not in fit_html(Fit("<script>alert(1)</script>", PEAK, (), HOST, fits=None))
