"""Polynomials found from samples, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

from diffprof.laws.fitting import Fitter
from diffprof.laws.variables import Variable

HEIGHT, HALF = Variable("height", 8), Variable("height", 16, is_rounded_up=True)
WIDTH = Variable("width", 8)
IMAGES = Variable("num_images_per_prompt")
BASE = {"height": 640, "width": 896, "num_images_per_prompt": 3}


def make_samples() -> tuple[list[dict[str, int]], dict[str, list[int]]]:
    samples, axes = [BASE], {}
    for source, values in {
        "height": (576, 648, 656, 664, 680, 720), "width": (832, 904, 912, 920), "num_images_per_prompt": (4, 5, 7),
    }.items():  # fmt: skip
        axes[source] = [0, *range(len(samples), len(samples) + len(values))]
        samples += [{**BASE, source: value} for value in values]
    others = [(712, 968, 4), (584, 1000, 5), (808, 776, 7), (936, 872, 2)]
    return [*samples, *(dict(zip(BASE, other, strict=True)) for other in others)], axes


SAMPLES, AXES = make_samples()
FITTER = Fitter(SAMPLES, AXES, [HEIGHT, HALF, WIDTH, IMAGES])


def test_attention_over_an_image_is_quadratic_in_its_tokens() -> None:
    tokens = [(s["height"] // 8) * (s["width"] // 8) + 77 for s in SAMPLES]
    found = FITTER.fit([s["num_images_per_prompt"] * 64 * n * n for s, n in zip(SAMPLES, tokens, strict=True)])
    assert found is not None
    h, w, b = HEIGHT.name, WIDTH.name, IMAGES.name
    expected = {
        ((b, 1),): 64 * 77 * 77, ((h, 1), (w, 1), (b, 1)): 2 * 64 * 77, ((h, 2), (w, 2), (b, 1)): 64,
    }  # fmt: skip
    assert {tuple(sorted(key)): Fraction(value) for key, value in expected.items()} == found


def test_a_side_that_is_halved_and_rounded_up_is_recognised() -> None:
    found = FITTER.fit([3 * -(-s["height"] // 16) + 1 for s in SAMPLES])
    assert found == {(): Fraction(1), ((HALF.name, 1),): Fraction(3)}


def test_what_follows_no_polynomial_is_not_made_to() -> None:
    assert FITTER.fit([2 ** (s["height"] // 64) for s in SAMPLES]) is None
