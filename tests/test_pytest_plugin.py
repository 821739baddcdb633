"""The fixture `diffprof_gate`, in runs of pytest of its own."""

from __future__ import annotations

from pathlib import Path

import diffusers  # noqa: F401  an inner run in this process must not load torch a second time, which crashes
import pytest

import diffprof
from tests.children import run_child

pytest_plugins = ["pytester"]

TEST = """
    from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

    def pipeline(channels=32):
        unet = UNet2DModel(
            sample_size=8, block_out_channels=(channels,), down_block_types=("DownBlock2D",),
            up_block_types=("UpBlock2D",),
        )
        return DDPMPipeline(unet, DDPMScheduler())

    def test_it(diffprof_gate):
        diffprof_gate(pipeline({channels}), "baselines/ddpm.json", num_inference_steps={steps}{more})
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> object:
    """Writes the test and runs it, with what changed since."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run_it(*arguments: str, channels: int = 32, steps: int = 2, more: str = "") -> pytest.RunResult:
        pytester.makepyfile(test_one=TEST.format(channels=channels, steps=steps, more=more))
        return pytester.runpytest("-p", "no:randomly", "-rs", *arguments)

    return run_it


def test_a_baseline_is_written_then_kept_then_broken(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    missing = run()
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*there is no baseline *ddpm.json; write it with: pytest --diffprof-update*"])

    run("--diffprof-update").assert_outcomes(passed=1)
    baseline = pytester.path / "baselines" / "ddpm.json"
    before = baseline.read_bytes()
    assert diffprof.load(baseline).total.macs > 0

    run().assert_outcomes(passed=1)
    assert baseline.read_bytes() == before, "only --diffprof-update writes"

    heavier = run(channels=64)
    heavier.assert_outcomes(failed=1)
    heavier.stdout.fnmatch_lines(["*generation costs more than ddpm.json allows:*", "*macs: *limit +0 %: failed*"])
    run(channels=64, more=', limits="calls=+0"').assert_outcomes(passed=1)

    other = run(steps=3)
    other.assert_outcomes(failed=1)
    other.stdout.fnmatch_lines(["*from another request: num_inference_steps is 2 there and 3 here*"])
    run(steps=3, more=", allow_different=True, limits='parameters=+0%'").assert_outcomes(passed=1)


def test_inconclusive_times_skip_the_test(run) -> None:  # type: ignore[no-untyped-def]
    measured = ", iterations=2, limits='macs=+0%,time=+5%'"
    run("--diffprof-update", more=measured).assert_outcomes(passed=1)
    noisy = run(more=measured)
    noisy.assert_outcomes(skipped=1)
    noisy.stdout.fnmatch_lines(["*2 and 2 samples are too few*"])


def test_a_baseline_that_is_not_a_profile_fails_with_a_message(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    folder = pytester.path / "baselines"
    folder.mkdir()
    (folder / "ddpm.json").write_text("{}")
    broken = run()
    broken.assert_outcomes(failed=1)
    broken.stdout.fnmatch_lines(["*This is not a diffprof profile*"])


def test_loading_the_plugin_imports_no_torch() -> None:
    code = "import sys, diffprof.pytest_plugin; print([m for m in ('torch', 'numpy', 'diffusers') if m in sys.modules])"
    assert run_child("-c", code, cwd=Path(__file__).parent).stdout == "[]\n"
