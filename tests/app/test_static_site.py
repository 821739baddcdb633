"""The calculator as plain files: in a real browser its figures are those of Python, and it asks nobody anything."""

from __future__ import annotations

import functools
import http.server
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

import diffprof
from diffprof.advice.fit import FitRequest, fit_profile
from diffprof.app.static_site import SLIDERS, _json_bytes, model_entry, write_site
from diffprof.catalogue.accelerators import accelerators
from diffprof.errors import RequestError
from diffprof.laws.law import Domain
from diffprof.laws.law_file import packaged_law
from diffprof.record.run_settings import RunSettings
from diffprof.render.charts.style import component_colours
from tests.browsers import DESKTOP, TELEPHONE, visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SEED = 20261117
REQUESTS = 12


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing: a test that fails shows what it needs itself."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    write_site(folder, [*MODELS, "sdxl-turbo"])
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


CALCULATE = """async (query) => {
  const state = window.diffprof.readState(query);
  const { macs, parameters, memory, time } = await window.diffprof.calculate(state, state.models[0]);
  const { allocated, reserved, device } = memory.peak;
  return { macs: String(macs), parameters: String(parameters), fits: memory.fits, allocated, reserved, device, time };
}"""


MODELS = ("sd-2.1-base", "flux.1-dev", "sdxl")
"""Those of them that have a law; with all of them, the site is written by docs/calculator.md."""

MOST = {"batch": 2, "steps": 60}


@dataclass(frozen=True)
class Asked:
    """A request that the law of a model was proved for, and how it is run."""

    model: str
    sizes: dict[str, int]
    guided: bool
    gpu: str
    compiled: bool
    offload: str

    @property
    def query(self) -> str:
        switches = {"guidance": "on" if self.guided else "off", "compile": "on" if self.compiled else "off"}
        return "?" + urlencode(
            {"model": self.model, **self.sizes, **switches, "gpu": self.gpu, "offload": self.offload}
        )

    @property
    def arguments(self) -> dict[str, Any]:
        law = packaged_law(self.model)
        assert law is not None
        given: dict[str, Any] = {law.sources[SLIDERS[name]]: value for name, value in self.sizes.items()}
        scales = model_entry(law)["guidance"]
        if law.guidance is not None and scales is not None:
            given[law.guidance] = scales["on" if self.guided else "off"]
        return given


def random_sizes(domain: Domain, generator: random.Random) -> dict[str, int]:
    """Values of the sliders that the domain has together: it may be a part of the sizes."""
    ranges = {name: domain.ranges[source] for name, source in SLIDERS.items() if source in domain.ranges}
    usual = {source: bounds.least for source, bounds in domain.ranges.items()}
    while True:
        sizes = {
            name: generator.randrange(bounds.least, min(bounds.most, MOST.get(name, 1024)) + 1, bounds.multiple)
            for name, bounds in ranges.items()
        }
        if domain.contains({**usual, **{SLIDERS[name]: value for name, value in sizes.items()}}, None, 0):
            return sizes


def random_requests() -> list[Asked]:
    generator = random.Random(SEED)
    laws = [law for law in map(packaged_law, MODELS) if law is not None]
    found = []
    for number in range(REQUESTS):
        law = laws[number % len(laws)]
        domain = generator.choice(law.domains)
        sizes = random_sizes(domain, generator)
        found.append(
            Asked(
                law.model,
                sizes,
                "above 1" in domain.guidance,
                generator.choice([accelerator.name for accelerator in accelerators()]),
                generator.random() < 0.5,
                generator.choice(["none", "model"]),
            )
        )
    return found


def test_its_figures_are_those_of_python(site: str, browser: Browser) -> None:
    with visiting(browser, site) as visit:
        visit.page.wait_for_selector("body[data-ready=yes]")
        for asked in random_requests():
            check_against_python(asked, visit.page.evaluate(CALCULATE, asked.query))
        assert visit.messages == []
        assert visit.requests == []


def check_against_python(asked: Asked, shown: dict[str, Any]) -> None:
    profile = diffprof.profile(asked.model, **asked.arguments)
    # Without the changes that would make it fit, which the site does not show.
    request = FitRequest(asked.gpu, settings=RunSettings.create(offload=asked.offload), with_changes=False)
    fit = fit_profile(profile, request)
    predicted = diffprof.predict(profile, gpu=asked.gpu, compile=asked.compiled, offload=asked.offload)
    expected = predicted.accelerators[asked.gpu]
    assert int(shown["macs"]) == profile.total.macs
    assert int(shown["parameters"]) == profile.total.parameters
    peak = (fit.peak.allocated_bytes, fit.peak.reserved_bytes, fit.peak.device_bytes)
    assert (shown["allocated"], shown["reserved"], shown["device"]) == peak
    assert shown["fits"] == fit.fits
    time = shown["time"]
    assert time["total"] == pytest.approx(expected.total_seconds, rel=1e-9)
    assert (time["low"], time["high"]) == pytest.approx((expected.low_seconds, expected.high_seconds), rel=1e-9)
    assert time["bound"] == pytest.approx(expected.bound_seconds, rel=1e-9)
    assert time["step"] == pytest.approx(expected.step_seconds, rel=1e-9)
    assert time["limitedBy"] == expected.limited_by


@pytest.mark.parametrize("width", [DESKTOP, TELEPHONE])
def test_a_link_opens_what_it_says_and_nothing_is_wider_than_the_screen(
    site: str, browser: Browser, width: int
) -> None:
    with visiting(browser, site, width) as visit:
        visit.page.goto(f"{site}?model=sd-2.1-base&gpu=t4&height=768&steps=20")
        visit.page.wait_for_selector("body[data-ready=yes]")
        assert visit.page.locator(".result .note").first.inner_text().startswith("512 x 768, 20 steps")
        assert visit.page.locator("#gpu").input_value() == "t4"
        assert visit.overflow <= 0
        visit.page.locator("#height").fill("512")
        visit.page.wait_for_function("document.querySelector('.result .note').innerText.startsWith('512 x 512')")
        assert "height=512" in visit.page.url


def test_a_size_that_was_not_proved_is_refused_in_a_sentence(site: str, browser: Browser) -> None:
    with visiting(browser, site) as visit:
        visit.page.goto(f"{site}?model=sd-2.1-base&height=9000")
        visit.page.wait_for_selector("body[data-ready=yes]")
        assert visit.page.locator(".result .bad").inner_text().startswith("No law was proved for this request")


def test_a_model_is_found_by_any_of_its_names_and_what_is_not_here_is_said(site: str, browser: Browser) -> None:
    with visiting(browser, site) as visit:
        page = visit.page
        page.goto(f"{site}?model=black-forest-labs/FLUX.1-dev,no-such-model&gpu=no-such-gpu")
        page.wait_for_selector("body[data-ready=yes]")
        titles = page.locator(".result h2")
        assert titles.all_inner_texts() == ["FLUX.1 [dev]"]
        assert page.locator("#message").inner_text() == "There is no model no-such-model here; choose one of the list."
        for typed, title in (("stabilityai/sdxl-turbo", "SDXL Turbo"), ("2.1 base", "Stable Diffusion 2.1 base")):
            page.locator("#model").fill(typed)
            page.locator("#model").press("Enter")
            expect(titles).to_have_text([title])
        page.locator("#beside").fill("sdxl")
        page.locator("#beside").press("Enter")
        expect(titles).to_have_count(2)
        page.locator("#beside").fill("<b>nothing</b>")
        page.locator("#beside").press("Enter")
        assert page.locator("#message").inner_text() == "There is no model <b>nothing</b> here; choose one of the list."
        page.locator("#chosen button").click()
        expect(titles).to_have_count(1)
        assert "model=sd-2.1-base&" in page.url


def test_a_component_has_the_colour_that_it_has_on_the_page(site: str) -> None:
    law = packaged_law("sdxl")
    assert law is not None
    colours = model_entry(law)["colours"]
    own = component_colours(diffprof.profile("sdxl"))
    assert {slot: colours[slot] for slot in ("unet", "vae", "text_encoder_2")} == {
        slot: own[slot] for slot in ("unet", "vae", "text_encoder_2")
    }


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RequestError, match="is not empty; name a new folder"):
        write_site(tmp_path)
    with pytest.raises(RequestError, match="is not a folder"):
        write_site(tmp_path / "notes.txt")


def test_a_model_without_a_law_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no law of stable-diffusion-9"):
        write_site(tmp_path / "site", ["stable-diffusion-9"])


def test_integers_that_a_browser_would_round_are_written_as_texts() -> None:
    assert (
        _json_bytes({"small": (2**53 - 1, True), "text": "é"})
        == '{"small":[9007199254740991,true],"text":"é"}'.encode()
    )
    assert _json_bytes({"large": [2**53 + 1, -(2**60)]}) == b'{"large":["9007199254740993","-1152921504606846976"]}'
    assert _json_bytes({"both": {"a": 2**70, "b": 1.5}}) == b'{"both":{"a":"1180591620717411303424","b":1.5}}'
