"""When a law answers a request."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.laws import selection
from diffprof.laws.programs import OutsideOfLaw
from diffprof.laws.selection import OtherVersions, profile_by_law, refusal
from diffprof.record.profile import Profile
from diffprof.record.request import Request

MODEL = "sd-2.1-base"


def profile(**arguments: object) -> Profile:
    others = {
        name: arguments.pop(name) for name in ("enable", "scheduler", "dtype", "guidance_interval") if name in arguments
    }
    request = add_recommended(Request.create(MODEL, arguments, **others))
    return profile_by_law(request, resolve(MODEL))


def test_nothing_installed_is_as_good_as_the_versions_of_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "installed_versions", dict)
    found = profile(height=512, width=512, num_inference_steps=30)
    assert found.counted_by == "law"
    assert found.steps.macs == 804_257_464_320
    assert sum(row.work.macs for row in found.calls[5].cost.operations) == found.calls[5].macs


def test_other_versions_are_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "installed_versions", lambda: {"diffusers": "0.1"})
    with pytest.raises(OtherVersions, match=r"and 0\.1 is installed"):
        profile()


@pytest.mark.parametrize(
    "arguments",
    [
        {"enable": "vae_slicing"},
        {"enable": "vae_tiling", "height": 640, "width": 640},
        {"scheduler": "DDIM"},
        {"dtype": "float32"},
        {"prompt": "a dog"},
        {"height": 512},
    ],
)
def test_what_a_law_does_not_depend_on_is_not_answered(
    arguments: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "installed_versions", dict)
    with pytest.raises(OutsideOfLaw):
        profile(**arguments)


def test_the_dtype_that_the_weights_have_anyway_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "installed_versions", dict)
    assert profile(dtype="fp16") == profile()


def test_what_advice_asks_for_is_answered_as_it_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "installed_versions", dict)
    tiled = profile(enable="vae_tiling")
    assert tiled.request.enable == ("vae_tiling",)
    assert tiled.components["unet"].macs == profile().components["unet"].macs
    solver = profile(scheduler="DPMSolverMultistepScheduler", num_inference_steps=20)
    assert solver.request.scheduler == "DPMSolverMultistepScheduler"
    assert solver.steps.stages[0].scheduler == "DPMSolverMultistepScheduler"
    assert solver.steps.count == 20
    guided = profile(guidance_interval=(0.0, 0.6))
    assert guided.request.changes.guidance_interval == (0.0, 0.6)
    assert guided.total.macs < profile().total.macs


def test_the_dtype_that_a_model_is_loaded_in_anyway_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of models with layers that the libraries keep in float32, too."""
    monkeypatch.setattr(selection, "installed_versions", dict)
    for dtype in (None, "bf16"):
        found = profile_by_law(
            add_recommended(Request.create("wan2.1-t2v-14b", dtype=dtype)), resolve("wan2.1-t2v-14b")
        )
        assert {*found.components["transformer"].weight_bytes_by_dtype} == {"bfloat16", "float32"}


def test_frames_of_a_model_of_images_are_refused_without_a_word_of_torch() -> None:
    with pytest.raises(OutsideOfLaw) as outside:
        profile(num_frames=16)
    assert "makes images, not videos" in str(refusal(outside.value))
    assert "torch" not in str(refusal(outside.value))


def test_without_torch_the_refusal_says_what_to_install() -> None:
    assert 'pip install "diffprof[torch]"' in str(refusal(OutsideOfLaw("the law was not proved")))


def test_a_version_is_read_from_the_name_beside_the_package() -> None:
    for library in selection.LIBRARIES:
        spec = find_spec(library)
        assert spec is not None
        assert selection._version_beside(library, spec.origin) == metadata.version(library)


def test_a_package_without_such_a_folder_beside_it_has_no_version_there(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    assert selection._version_beside("torch", str(tmp_path / "torch" / "__init__.py")) is None
    for version in ("2.0.0", "2.1.0"):
        (tmp_path / f"torch-{version}.dist-info").mkdir()
    assert selection._version_beside("torch", str(tmp_path / "torch" / "__init__.py")) is None, "which one is it?"
    assert selection._version_beside("torch", None) is None
