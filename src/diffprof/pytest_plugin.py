"""The fixture `diffprof_gate` for tests of pipelines: fails a test if generation costs more than its baseline.

    def test_generation_stays_as_light_as_it_was(diffprof_gate):
        diffprof_gate(make_pipeline(), "baseline.json", prompt="a cat", num_inference_steps=4)

``pytest --diffprof-update`` writes the baselines instead.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from diffprof.comparison.gate import Gate
    from diffprof.record.profile import Profile

# pytest loads this module in every run, so torch and everything else is imported when the fixture is used.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("diffprof").addoption(
        "--diffprof-update", action="store_true", help="Write the baselines of diffprof_gate instead of checking them."
    )


@pytest.fixture
def diffprof_gate(request: pytest.FixtureRequest) -> Callable[..., Gate | None]:
    """``diffprof_gate(pipe, "baseline.json", **call_arguments)`` checks a live pipeline against a baseline file."""
    folder, update = request.path.parent, bool(request.config.getoption("--diffprof-update"))

    def check(
        pipe: Any,
        baseline: str | Path,
        *,
        limits: str | None = None,
        iterations: int = 0,
        warmup: int = 1,
        allow_different: bool = False,
        **call_arguments: Any,
    ) -> Gate | None:
        """Count one call of the pipeline, and measure `iterations` more if given; compare it with the baseline.

        `baseline` is relative to the test's folder. `limits` are written as for ``diffprof gate --max``. A broken
        limit fails the test; one that is too noisy to tell skips it. None where the baseline was written.
        """
        profile = _profile(pipe, iterations, warmup, call_arguments)
        file = folder / baseline
        if update:
            file.parent.mkdir(parents=True, exist_ok=True)
            profile.save(file)
            return None
        return _check(file, profile, limits or None, allow_different)

    return check


def _profile(pipe: Any, iterations: int, warmup: int, call_arguments: dict[str, Any]) -> Profile:
    import diffprof

    if not iterations:
        return diffprof.profile(pipe, **call_arguments)
    return diffprof.measure(pipe, warmup=warmup, iterations=iterations, **call_arguments).profile


def _check(file: Path, profile: Profile, limits: str | None, allow_different: bool) -> Gate:
    from diffprof.comparison.gate import FAILED, TOO_NOISY, gate_profiles
    from diffprof.comparison.views.gate import describe_check
    from diffprof.errors import DiffprofError
    from diffprof.record.files import load

    __tracebackhide__ = True
    if not file.is_file():
        pytest.fail(f"there is no baseline {file}; write it with: pytest --diffprof-update", pytrace=False)
    try:
        outcome = gate_profiles(load(file), profile, limits, allow_different)
    except DiffprofError as error:
        pytest.fail(f"{error} (pytest --diffprof-update writes {file.name} again)", pytrace=False)
    sentences = [describe_check(check) for check in outcome.checks if check.outcome == outcome.outcome]
    if outcome.outcome == FAILED:
        pytest.fail("\n".join([f"generation costs more than {file.name} allows:", *sentences]), pytrace=False)
    if outcome.outcome == TOO_NOISY:
        pytest.skip("; ".join(sentences))
    return outcome
