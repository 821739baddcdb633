"""Several models beside each other."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.app import side_by_side as module
from diffprof.app import views
from diffprof.app.address import PageState
from diffprof.app.side_by_side import ModelRow, count_row, side_by_side
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from diffprof.render import numbers
from tests.sample_profiles import stable_diffusion

LONG, SHORT = stable_diffusion(unet_calls=4), stable_diffusion(unet_calls=2)
STATE = PageState(("sd-2.1-base", "sdxl"), "l4", {})


def test_each_model_has_a_row_that_leads_to_its_page() -> None:
    html = str(side_by_side([ModelRow("sd-2.1-base", LONG), ModelRow("sdxl", SHORT)], STATE))
    assert "Side by side on l4" in html and html.count("<tr>") == 3
    for profile in (LONG, SHORT):
        assert f"<td>{numbers.short(profile.total.macs, brief=True)}</td>" in html
    assert html.count("<a href=") == 2


def test_a_model_that_cannot_be_counted_says_why_in_its_row() -> None:
    html = str(side_by_side([ModelRow("sd-2.1-base", LONG), ModelRow("sdxl", None, "<b>no</b>")], STATE))
    assert "&lt;b&gt;no&lt;/b&gt;" in html


def test_one_model_is_beside_nothing() -> None:
    assert side_by_side([ModelRow("sd-2.1-base", LONG)], STATE) == views.NOTHING


def test_a_model_is_counted_with_the_arguments_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[dict[str, Any]] = []

    def count(model: str, arguments: dict[str, Any], progress: Any) -> Profile:
        counted.append(dict(arguments))
        if model == "broken":
            raise RequestError("no such model")
        return SHORT

    monkeypatch.setattr(module, "count_model", count)
    monkeypatch.setattr(module, "arguments_for", lambda profile, given: {"height": given["height"]})
    assert count_row("sdxl", {"height": 512, "num_frames": 81}, None) == ModelRow("sdxl", SHORT)
    assert counted == [{}, {"height": 512}]
    assert count_row("broken", {}, None) == ModelRow("broken", None, "no such model")
