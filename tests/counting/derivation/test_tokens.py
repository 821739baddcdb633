"""Lengths of a prompt that one program covers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from diffprof.counting.derivation.tokens import proved_tokens
from diffprof.laws.law import Range
from diffprof.laws.packing import NoLaw


class Maker:
    """Samples whose values are those of a function of the prompt's length."""

    def __init__(self, values_of: Any, has_prompt: bool = True) -> None:
        self.values_of = values_of
        sources = {"tokens": "prompt"} if has_prompt else {}
        self.subject = SimpleNamespace(sources=sources, default_numbers=lambda names: dict.fromkeys(names, 5))

    def sample(self, numbers: dict[str, int]) -> Any:
        return SimpleNamespace(values=self.values_of(numbers["tokens"]))


def refuse(tokens: int) -> Any:
    raise NoLaw("no prompt")


@pytest.mark.parametrize(
    ("values_of", "proved"),
    [
        (lambda tokens: {"tokens": tokens + 2, "length": 512}, Range(1, 200)),
        (lambda tokens: {"tokens": min(tokens + 2, 77)}, Range(1, 60)),
        (lambda tokens: {"tokens": tokens**2 + tokens % 2}, Range(5, 5)),
        (refuse, Range(5, 5)),
    ],
)
def test_prompts_are_as_long_as_the_law_holds(values_of: Any, proved: Range) -> None:
    assert proved_tokens(Maker(values_of)) == proved  # type: ignore[arg-type]


def test_a_call_without_a_prompt_has_the_usual_length() -> None:
    assert proved_tokens(Maker(refuse, has_prompt=False)) == Range(5, 5)  # type: ignore[arg-type]
