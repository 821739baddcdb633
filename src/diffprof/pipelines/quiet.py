"""Silence libraries while a model is built only for counting."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_libraries(level: int = logging.ERROR) -> Iterator[None]:
    """Suppress warnings about using a model, which is built and dry-run only for counting.

    Above the level of errors, errors that a library also raises are not logged.
    """
    import diffusers.utils.logging
    import transformers.utils.logging  # importing these sets the levels that are changed next

    loggers = [logging.getLogger(module.__name__.split(".")[0]) for module in (diffusers, transformers)]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(level)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
