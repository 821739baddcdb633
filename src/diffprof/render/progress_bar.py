"""A progress bar for Python: a widget in notebooks, a line on terminals."""

from __future__ import annotations

from typing import Any


class ProgressBar:
    """A progress callback for `diffprof.profile` and `diffprof.measure` that draws one bar for each activity.

    Uses `tqdm`, which is installed with the libraries that load pipelines.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._message = ""

    def __call__(self, message: str, done: int | None, total: int | None) -> None:
        """Draw the progress."""
        if message != self._message or self._bar is None:
            self.close()
            self._message, self._bar = message, self._draw(message, total)
        if total is not None and self._bar.total != total:
            self._bar.total = total
        self._bar.n = done or 0
        self._bar.refresh()
        if total is not None and done == total:
            self.close()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _draw(self, message: str, total: int | None) -> Any:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm asks for a widget library that nobody needs
            from tqdm.auto import tqdm
        return tqdm(total=total, desc=message, leave=False)
