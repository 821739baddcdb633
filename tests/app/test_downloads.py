"""Links to files, and the files."""

from __future__ import annotations

import re
from dataclasses import replace

from diffprof.app.downloads import MAX_RESULTS, Downloads
from tests.sample_profiles import everything_measured, stable_diffusion


def test_the_name_of_a_download_is_fit_for_a_header() -> None:
    profile = stable_diffusion()
    downloads, named = Downloads(), replace(profile, request=replace(profile.request, model='models/мой "mödel"\r\n'))
    token = re.search(r"files/([\w-]+)/json", downloads.links([named], ["one"]))
    assert token is not None
    file = downloads.file(token[1], "json")
    assert file is not None
    assert file.name == "-m-del-.json"


def test_links_lead_to_files_until_they_are_too_old() -> None:
    downloads, profile = Downloads(), stable_diffusion()
    first = re.search(r"files/([\w-]+)/json", downloads.links([profile], ["one"]))
    assert first is not None
    file = downloads.file(first[1], "json")
    assert file is not None
    assert file.content.startswith('{"format":')
    assert downloads.file(first[1], "exe") is None
    for _ in range(MAX_RESULTS):
        downloads.links([profile], ["one"])
    assert downloads.file(first[1], "json") is None


def test_only_a_measured_run_has_times_to_download() -> None:
    assert "times.csv" in Downloads().links([everything_measured()], ["one"])
    assert "times.csv" not in Downloads().links([stable_diffusion()], ["one"])
