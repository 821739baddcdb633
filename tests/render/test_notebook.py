"""A record prints as its command does, and shows itself as HTML in a notebook."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from diffprof.record.measured import Limitation
from diffprof.record.profile import Profile
from diffprof.render.notebook import blocks_html, runs_notebook
from diffprof.render.profile_console import profile_text
from diffprof.render.run_console import run_text
from tests.sample_profiles import everything_measured, hostile, nothing, stable_diffusion


def test_a_counted_profile_prints_as_the_command_shows_it() -> None:
    assert str(stable_diffusion()) == profile_text(stable_diffusion())


def test_a_measured_profile_prints_its_times() -> None:
    assert str(everything_measured()) == run_text(everything_measured())


def test_a_notebook_shows_the_table_and_the_exact_total() -> None:
    html = stable_diffusion()._repr_html_()

    assert "<td>unet<" in html
    assert f"exactly {stable_diffusion().total.macs:,} MACs" in html
    assert html.count("<table>") == 1


def test_a_notebook_shows_the_times_of_a_run() -> None:
    html = everything_measured()._repr_html_()

    assert "Sections" in html
    assert html.count("<table>") == 3


@pytest.mark.parametrize("profile", [hostile(), nothing()], ids=["hostile", "nothing"])
def test_names_from_a_file_never_become_markup(profile: Profile) -> None:
    assert "<script" not in profile._repr_html_().lower()
    assert "<img" not in profile._repr_html_().lower()


def test_a_run_without_calls_says_so() -> None:
    run = SimpleNamespace(profiles=(), limitations=(Limitation("not_counted", "the call was refused"),))
    assert "<h4>Nothing was measured</h4><p>what ran was not counted: the call was refused</p>" in runs_notebook(run)


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert "http" not in blocks_html([])
