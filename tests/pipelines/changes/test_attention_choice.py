"""The attention backend of a pipeline, chosen by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.errors import RequestError
from diffprof.pipelines.changes.attention_choice import choose_attention


class Transformer(torch.nn.Module):
    """A denoiser that notes its backend, or refuses it."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error, self.chosen = error, ""

    def set_attention_backend(self, name: str) -> None:
        if self.error is not None:
            raise self.error
        self.chosen = name


def pipeline(part: torch.nn.Module) -> Any:
    return SimpleNamespace(config={"transformer": ""}, transformer=part)


def test_where_nothing_runs_the_backend_is_only_named() -> None:
    part = Transformer(RuntimeError("not installed"))
    assert choose_attention(pipeline(part), "Flash") == [
        "attention is computed by flash: the same products, whatever its kernel does with them"
    ]
    assert part.chosen == ""


def test_for_a_real_run_it_is_set_or_refused() -> None:
    part = Transformer()
    choose_attention(pipeline(part), "flash", for_real=True)
    assert part.chosen == "flash"
    with pytest.raises(RequestError, match="attention cannot be computed by flash here: not installed"):
        choose_attention(pipeline(Transformer(RuntimeError("not installed"))), "flash", for_real=True)


def test_an_unknown_backend_is_refused_with_those_that_are_like_it() -> None:
    with pytest.raises(RequestError, match=r"unknown attention backend 'flsh'; did you mean .*flash"):
        choose_attention(pipeline(Transformer()), "flsh")


def test_a_pipeline_without_a_choice_is_refused() -> None:
    with pytest.raises(RequestError, match="the attention backend of SimpleNamespace cannot be chosen"):
        choose_attention(pipeline(torch.nn.Linear(1, 1)), "flash")
