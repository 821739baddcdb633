"""Attention is told apart: self, cross and joint; with its tokens and heads, and the module it was called from."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import diffprof
from diffprof.record.profile import Attention
from tests.small_pipelines import SMALL_PIPELINES


def attention(name: str, component: str, **changes: object) -> list[Attention]:
    small = SMALL_PIPELINES[name]
    done = diffprof.profile(small.build(), **small.arguments() | changes)
    call = next(call for call in done.calls if call.component == component)
    assert sum(shape.macs for shape in call.cost.attention) == sum(
        operation.work.macs for operation in call.cost.operations if operation.kind == "attention"
    )
    return list(call.cost.attention)


def relations(shapes: Iterable[Attention]) -> set[str]:
    return {shape.relation for shape in shapes}


def test_a_unet_attends_to_itself_and_to_the_text() -> None:
    shapes = attention("stable-diffusion", "unet")
    assert relations(shapes) == {"self", "cross"}
    for shape in shapes:
        assert shape.key_tokens == (shape.query_tokens if shape.relation == "self" else 77)
        assert shape.module.endswith("attn1" if shape.relation == "self" else "attn2")


def test_cross_attention_stays_cross_when_there_are_as_many_pixels_as_words() -> None:
    """Latents of 7 x 11 are 77 tokens, as many as CLIP has words."""
    shapes = [shape for shape in attention("stable-diffusion", "unet", height=56, width=88) if "attn2" in shape.module]
    assert relations(shapes) == {"cross"}
    shapes = [shape for shape in attention("stable-diffusion", "unet", height=56, width=88) if "attn1" in shape.module]
    assert relations(shapes) == {"self"}


@pytest.mark.parametrize(
    ("name", "component", "expected"),
    [
        ("stable-diffusion", "text_encoder", {"self"}),
        ("stable-diffusion", "vae", {"self"}),
        ("flux", "transformer", {"joint"}),
        ("flux", "text_encoder_2", {"self"}),
        ("stable-diffusion-3", "transformer", {"joint", "self"}),  # its first layer has a second one, as SD 3.5 has
        ("qwen-image", "transformer", {"joint"}),
        ("wan-2.1", "transformer", {"self", "cross"}),
        ("dit", "transformer", {"self"}),
        ("cogvideox", "transformer", {"joint"}),
    ],
)
def test_what_attends_to_what(name: str, component: str, expected: set[str]) -> None:
    assert relations(attention(name, component)) == expected


def test_joint_attention_is_over_images_and_words_together() -> None:
    small = SMALL_PIPELINES["flux"]
    done = diffprof.profile(small.build(), **small.arguments())
    call = next(call for call in done.calls if call.component == "transformer")
    tokens = {argument.shapes[0][1] for argument in call.inputs if "hidden_states" in argument.name}
    assert {shape.query_tokens for shape in call.cost.attention} == {sum(tokens)}


def test_a_text_encoder_that_looks_back_only_is_causal() -> None:
    shapes = attention("stable-diffusion", "text_encoder")
    assert shapes
    assert all(shape.causal or shape.masked for shape in shapes)


def test_equal_layers_read_as_one() -> None:
    (shape,) = attention("stable-diffusion", "text_encoder")
    assert shape.count == 3
    assert shape.module == "text_model.encoder.layers.*.self_attn" or shape.module == "encoder.layers.*.self_attn"


def test_grouped_queries_are_recognised() -> None:
    shapes = attention("qwen-image", "text_encoder")
    assert {(shape.heads, shape.key_heads) for shape in shapes} == {(4, 2)}
