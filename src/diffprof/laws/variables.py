"""The variables of a law: numbers of a request, divided and rounded as in pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SOURCES = ("height", "width", "num_frames", "num_images_per_prompt", "num_inference_steps", "tokens")
"""The values that a user can change, named as in most pipelines; `tokens` are those of the prompt."""


@dataclass(frozen=True)
class Variable:
    """A number of a request plus an offset, divided by an integer and rounded."""

    source: str
    divisor: int = 1
    offset: int = 0
    is_rounded_up: bool = False

    @property
    def name(self) -> str:
        """The name in formulas: ``height``, ``floor(height/16)``, ``ceil(height/32)``."""
        inner = self.source + (f"{self.offset:+d}" if self.offset else "")
        if self.divisor == 1:
            return inner
        return f"{'ceil' if self.is_rounded_up else 'floor'}({inner}/{self.divisor})"

    def value(self, numbers: Mapping[str, int]) -> int:
        number = numbers[self.source] + self.offset
        return -(-number // self.divisor) if self.is_rounded_up else number // self.divisor


def values_of(variables: Iterable[Variable], numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the value of each variable for the numbers of a request."""
    return {variable.name: variable.value(numbers) for variable in variables}
