"""Settings that change what is counted are seen where they are made."""

from __future__ import annotations

import pytest
import torch
from diffusers.models.attention_dispatch import attention_backend

from diffprof.counting.process_settings import process_settings


def test_the_default_dtype_and_the_attention_backend_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = process_settings()
    monkeypatch.setattr(torch, "get_default_dtype", lambda: torch.float64)
    assert process_settings() == {**usual, "default_dtype": "torch.float64"}
    with attention_backend("_native_math"):
        assert process_settings()["attention_backend"] == "_native_math"
