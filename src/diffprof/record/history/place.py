"""Where the history lies."""

from __future__ import annotations

from pathlib import Path

from diffprof import settings as config


def default_path() -> Path:
    """``$DIFFPROF_HISTORY``, else as the settings say, else a file in the platform's place for data."""
    return config.HISTORY
