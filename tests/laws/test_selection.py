"""When a law answers a request."""

from __future__ import annotations

import pytest

from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended import add_recommended
from diffprof.laws import selection
from diffprof.laws.programs import OutsideOfLaw
from diffprof.laws.selection import OtherVersions, profile_by_law, refusal
from diffprof.record.profile import Profile
from diffprof.record.request import Request

MODEL = "sd-2.1-base"


def profile(**arguments: object) -> Profile:
    others = {name: arguments.pop(name) for name in ("enable", "scheduler", "dtype") if name in arguments}
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
    [{"enable": "vae_tiling"}, {"scheduler": "DDIM"}, {"dtype": "float32"}, {"prompt": "a dog"}, {"height": 512}],
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


def test_without_torch_the_refusal_says_what_to_install() -> None:
    assert 'pip install "diffprof[torch]"' in str(refusal(OutsideOfLaw("the law was not proved")))
