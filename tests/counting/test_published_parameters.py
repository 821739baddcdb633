"""Models of the catalogue have as many parameters as were published, to the last one where that is known.

That they are built with as many as the catalogue says is seen where each is counted: test_catalogue_models.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from diffprof import catalogue
from diffprof.catalogue import Part

ENTRIES = catalogue.entries()


PARTS = {f"{entry.name} {slot}": part for entry in ENTRIES for slot, part in entry.components.items() if part.published}

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
SIZES = re.compile(rf"total_size {NUMBER} (?:bytes in (\w+)|at (\d) bytes)")
EXACT = re.compile(rf"{NUMBER} exactly")
ROUNDED = re.compile(rf"(?:^|; ){NUMBER} ([BM]) \(([^)]*)\)")
FILES = re.compile(rf"(?:^|; ){NUMBER} ([GM]B) of weights at (\d) bytes \(")
UNITS = {"B": 1e9, "M": 1e6, "GB": 1e9, "MB": 1e6}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_a_published_count_agrees(part: Part) -> None:
    assert part.published
    assert part.parameters
    ours = (part.parameters, part.parameters + part.buffers)  # a checkpoint holds the buffers too
    for count in exact_counts(part.published):
        assert count in ours
    for count, tolerance in rounded_counts(part.published):
        assert min(abs(own - count) for own in ours) <= tolerance


def exact_counts(published: str) -> Iterator[int]:
    for size, dtype, each in SIZES.findall(published):
        yield integer(size) // (BYTES[dtype] if dtype else int(each))
    for count in EXACT.findall(published):
        yield integer(count)


def integer(text: str) -> int:
    return int(text.replace(",", ""))


def rounded_counts(published: str) -> Iterator[tuple[float, float]]:
    """A rounded count and how far the truth may be from it: one of its last digit, or a tenth of '20 M'."""
    for text, unit, source in ROUNDED.findall(published):
        if "without" not in source:  # counted something else
            count = float(text) * UNITS[unit]
            yield count, max(last_digit(text) * UNITS[unit], 0.1 * count if "." not in text else 0)
    for text, unit, each in FILES.findall(published):
        yield float(text) * UNITS[unit] / int(each), last_digit(text) * UNITS[unit] / int(each)


def last_digit(text: str) -> float:
    return 10.0 ** -len(text.partition(".")[2])


def test_most_published_counts_are_understood() -> None:
    """A change of wording must not silence the test above."""
    understood = [
        part for part in PARTS.values() if [*exact_counts(part.published or ""), *rounded_counts(part.published or "")]
    ]
    assert len(understood) >= 60
    assert sum(1 for part in PARTS.values() if [*exact_counts(part.published or "")]) >= 20


def test_buffers_of_a_checkpoint_are_distinguished_from_parameters() -> None:
    """SD 3.5's files hold a position table that is a buffer: the count of a checkpoint is both together."""
    entry = catalogue.find("sd3.5-large")
    assert entry is not None
    transformer = entry.components["transformer"]
    assert (transformer.parameters, transformer.buffers) == (8_056_627_520, 89_653_248)
    assert 2 * (8_056_627_520 + 89_653_248) == 16_292_561_536
