"""The state of the tab Profile in the address."""

from __future__ import annotations

import urllib.parse

from diffprof.app.address import SLIDER_NAMES, PageState, read_address, write_address
from diffprof.app.sliders import SLIDERS

FIRST = PageState(("flux.1-dev",), "rtx-4090")


def query(address: str) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(address[1:]))


def test_an_address_says_the_state_and_gives_it_back() -> None:
    state = PageState(("sdxl", "me/a model&b"), "h100-sxm", {"height": 768, "guidance_scale": 3.5})
    address = write_address(state)
    assert address == "?model=sdxl,me/a%20model%26b&gpu=h100-sxm&height=768&guidance=3.5"
    assert read_address(query(address), FIRST) == state


def test_an_address_without_a_state_opens_the_first_one() -> None:
    assert read_address({}, FIRST) == FIRST
    assert read_address({"model": " , ", "gpu": " "}, FIRST) == FIRST


def test_what_is_no_number_moves_no_slider() -> None:
    assert read_address({"steps": "many", "height": "inf", "width": "", "batch": "2"}, FIRST).arguments == {
        "num_images_per_prompt": 2
    }


def test_every_slider_has_a_name_in_the_address() -> None:
    assert sorted(SLIDER_NAMES.values()) == sorted(slider.argument for slider in SLIDERS)
