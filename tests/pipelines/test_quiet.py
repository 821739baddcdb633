"""Libraries are quiet inside the block, and as loud as before after it."""

from __future__ import annotations

import logging
import warnings

import pytest

from diffprof.pipelines.quiet import quiet_libraries


def test_warnings_and_messages_are_dropped_inside_only() -> None:
    logger = logging.getLogger("diffusers")
    before = logger.level
    with pytest.raises(KeyError), quiet_libraries():
        assert logger.level == logging.ERROR
        with warnings.catch_warnings(record=True) as caught:
            warnings.warn("nobody will use this model", stacklevel=1)
        assert caught == []
        raise KeyError
    assert logger.level == before
    with pytest.warns(UserWarning, match="heard again"):
        warnings.warn("heard again", stacklevel=1)
