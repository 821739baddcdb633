"""docs/coming-from-the-guides.md: nothing of the guides is missing, and every line of what it is here works."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.model_manager import get_model_manager
from tests.test_docs import ROOT, blocks_of, run_command, run_python

PAGE = ROOT / "docs" / "coming-from-the-guides.md"

OF_THE_GUIDES = """
generate_image generate_images_sequential get_model_manager load_model create_profiler ComputeProfiler
ENABLE_COMPUTE_PROFILING enable_profiling measure_unet_macs measure_vae_decode_macs measure_text_encoder_macs
summarize_macs profile_pipeline input_shape model_id num_inference_steps sdpa_flops _wrap_sdpa_for_macs _unwrap_sdpa
UNetWrapper SD3TransformerWrapper GenericTransformerWrapper Lumina2TransformerWrapper KandinskyUNetWrapper
profile_section profile_function get_global_stats TimingStats MemoryTracker IterationProfiler PyTorchProfiler
print_summary get_all_stats get_stats snapshot export_json iteration record_shapes profile_memory with_stack output_dir
enabled model_component total_params params_str flops_per_step flops_per_step_str macs_per_step macs_per_step_str
total_flops total_flops_str total_macs total_macs_str inference_time_seconds inference_time_str latent_shape
unet_macs_per_step vae_macs text_encoder_macs timestamp prompt models model_name image_path compute_profile
generation_config.json profiling_report.json memory_log.json timing_summary.txt trace.json
src/compute_profiler.py src/model_manager.py src/inference.py src/config.py environment.yaml docs/PROFILING.md
docs/PROFILING_GUIDE.md docs/RESULTS.md QUICK_PROFILER_GUIDE.md COMPLETION_REPORT.md PROFILER_REWRITE_SUMMARY.md
example_profiling.py example_profiling_detailed.py test_profiler_standalone.py final_working_models_test.py
num_steps guidance_scale _sdpa_macs_counter vae_decode text_encoder_forward transformer_forward image_encoder_forward
worker_start after_text_encoding after_image_encoding during_sampling after_vae_decode gpu_memory_peak ssd_read_events
sdpa_overhead flash_attn mem_efficient_attn eager my_trace.json FRAMEPACK_ENABLE_SOMETHING baseline_profile.txt
optimized_profile.txt stabilityai/stable-diffusion-2-1-base PixArt-alpha/PixArt-XL-2-512x512
stabilityai/stable-diffusion-3-medium-diffusers FramePack SANA Lumina Kandinsky FLUX
demo_gradio.py --enable-profiling --profiling-iterations chrome://tracing nvidia-smi iotop htop thop calflops
""".split()  # noqa: SIM905  so many strings would hide the words
"""Every name that the guides use: imports, functions, arguments, keys, files, commands."""

SUMMARY_KEYS = (
    "UNet per-step (GMACs)",
    "Text encoder once (GMACs)",
    "VAE decode once (GMACs)",
    "Total 30 steps (GMACs)",
)


def rows() -> list[tuple[str, str, str]]:
    """Section, what stands in the guides, what it is here."""
    found, section = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("| ") else []
        if len(cells) == 2 and cells[0] != "in the guides":
            found.append((section, cells[0], cells[1].strip("| ")))
    return found


def codes_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_nothing_of_the_guides_is_missing() -> None:
    theirs = " ".join(cell for _, cell, _ in rows())
    words = set(re.findall(r"[\w./:<>-]+", theirs)) | set(re.findall(r"\w+", theirs))
    missing = [name for name in OF_THE_GUIDES if name not in words and not any(name in word for word in words)]
    assert not missing
    assert all(key in theirs for key in SUMMARY_KEYS)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_line_is_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of_the_page()
    left: list[str] = []
    for section, _, here in rows():
        codes = codes_in(here)
        assert codes, f"nothing to run in: {here}"
        for code in codes:
            left += run_one(section, code, names, home, monkeypatch)
    get_model_manager().unload_all()
    assert left == ["error", "python examples/every_model.py", "diffprof.toml"], "words in the columns that are no code"


def names_of_the_page() -> dict[str, Any]:
    names: dict[str, Any] = {"diffprof": diffprof}
    for block in blocks_of(PAGE):
        if block.language == "python":
            run_python(block, PAGE, names)
    return names


def run_one(section: str, code: str, names: dict[str, Any], home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run a piece of code as what it is; give it back where it is none."""
    if code.startswith("from "):
        exec(code, names)
    elif code.startswith("diffprof "):
        # The page would be served until somebody stops it; its options are checked before it gives its help.
        command = f"{code} --help" if code.startswith("diffprof app") else code
        ended, printed = run_command(command, monkeypatch)
        assert ended == 0, f"{command}\n{printed}"
    elif section == "Files":
        assert list(home.glob(code)) or (ROOT / code).exists(), f"there is no {code}"
    elif "(" in code or "[" in code:
        with contextlib.redirect_stdout(io.StringIO()):
            value = eval(code, names)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, contextlib.AbstractContextManager) and not isinstance(part, Path):
                    with part:
                        sum(range(10))
        assert value not in (0, [], {}), code
        assert not isinstance(value, dict) or value.get("enabled") is not False, value
    else:
        return [code]
    return []
