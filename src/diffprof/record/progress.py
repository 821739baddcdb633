"""How long work says what it is doing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int | None, int | None], None]
"""Called with what is going on, how much of it is done, and of how much; None where that is not known."""
