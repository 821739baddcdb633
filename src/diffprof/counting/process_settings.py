"""Settings of the process that affect counts."""

from __future__ import annotations

import os
import sys


def process_settings() -> dict[str, str]:
    """Return global settings of torch and diffusers; a library that is not imported has its defaults."""
    torch, attention = sys.modules.get("torch"), sys.modules.get("diffusers.models.attention_dispatch")
    backend = attention._AttentionBackendRegistry._active_backend if attention else None
    return {
        "default_dtype": str(torch.get_default_dtype()) if torch else "torch.float32",
        "attention_backend": str(getattr(backend, "value", backend))
        if backend is not None
        else os.environ.get("DIFFUSERS_ATTN_BACKEND", "native"),
    }
