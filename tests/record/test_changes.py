"""What is asked to be changed about a model, checked once."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.record.changes import Changes
from diffprof.record.request import Request


def test_nothing_is_changed_by_default() -> None:
    assert not Changes()
    assert not Changes.create()
    assert Changes().non_empty == {}
    assert Request.create("sdxl-base").changes == Changes()


def test_kinds_are_given_for_all_components_or_for_one() -> None:
    assert Changes.create(quantize="nf4").quantize == {"*": "bitsandbytes:nf4"}
    assert Changes.create(quantize=["nf4", "vae=int8"]).quantize == {"*": "bitsandbytes:nf4", "vae": "torchao:int8"}
    assert Changes.create(quantize={"transformer": "gguf:Q4_K"}).quantize == {"transformer": "gguf:Q4_K"}
    assert Changes.create(layerwise="transformer=fp8").layerwise == {"transformer": "float8_e4m3fn"}


def test_none_leaves_a_component_out() -> None:
    assert Changes.create(quantize=["nf4", "text_encoder=none"]).quantize == {
        "*": "bitsandbytes:nf4",
        "text_encoder": "",
    }


def test_what_was_given_is_plain() -> None:
    changes = Changes.create(quantize="nf4", lora=[16, "a.safetensors"], guidance_interval=(0.2, 0.8), cache="mag")
    assert changes.non_empty == {
        "quantize": {"*": "bitsandbytes:nf4"},
        "lora": ["16", "a.safetensors"],
        "guidance_interval": [0.2, 0.8],
        "cache": "mag",
    }
    assert Changes.create(**changes.non_empty) == changes


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"quantize": ["nf4", "int8"]}, "quantize is given twice for all components; leave one out."),
        ({"quantize": ["unet=nf4", "unet=int8"]}, "quantize is given twice for unet; leave one out."),
        ({"quantize": ["unet="]}, "quantize takes KIND or COMPONENT=KIND, such as transformer=nf4, not ''."),
        ({"quantize": "nf4", "layerwise": "fp8"}, "quantize and layerwise cannot both change the same components"),
        ({"quantize": "unet=nf4", "layerwise": "unet=fp8"}, "quantize and layerwise cannot both change unet"),
        ({"guidance_interval": "0.8:0.2"}, "The guidance interval is START:END, two shares of the steps"),
        ({"guidance_interval": "0.2"}, "The guidance interval is START:END, two shares of the steps"),
        ({"guidance_interval": "a:b"}, "The guidance interval is START:END, two shares of the steps"),
        ({"guidance_interval": (0, 2)}, "The guidance interval is START:END, two shares of the steps"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError) as refusal:
        Request.create("sdxl-base", **given)
    assert str(refusal.value).startswith(sentence)


def test_changes_are_no_call_arguments() -> None:
    with pytest.raises(RequestError, match="quantize is not a call argument"):
        Request.parse("sdxl-base", {}, ["quantize=nf4"])
