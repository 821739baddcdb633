"""A fake allocator of a GPU: the state of ``torch.cuda.memory`` after it ran out of memory."""

from __future__ import annotations

import pytest
import torch

HELD = 400_000_000
SNAPSHOT = {
    "segments": [
        {
            "device": 0,
            "total_size": 500_000_000,
            "blocks": [
                {"address": 1, "size": HELD, "state": "active_allocated", "frames": []},
                {"address": 2, "size": 100_000_000, "state": "inactive", "frames": []},
            ],
        }
    ],
    "device_traces": [[]],
}


def with_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose GPU is in use and holds 400 MB."""
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", lambda: SNAPSHOT)
