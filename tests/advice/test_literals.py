"""Values as Python: evaluated, they are the same again."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from diffprof.advice.literals import literal


@pytest.mark.parametrize(
    "value", [None, True, 3, 2.5, "a \"big\" 'cat'\n", "ein Kätzchen", ["a", 1], [[207]], {"a": 1}]
)
def test_a_value_is_written_as_python(value: Any) -> None:
    assert ast.literal_eval(literal(value)) == value


def test_texts_are_in_double_quotes() -> None:
    assert literal(("a cat", "it's")) == '["a cat", "it\'s"]'
