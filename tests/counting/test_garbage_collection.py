"""The collector rests for as long as it is told to, and no longer."""

from __future__ import annotations

import gc

import pytest

from diffprof.counting.garbage_collection import no_garbage_collection


def test_the_collector_is_on_again_also_after_an_error() -> None:
    with pytest.raises(ValueError, match="anything"), no_garbage_collection():
        assert not gc.isenabled()
        raise ValueError("anything")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    with no_garbage_collection():
        with no_garbage_collection():
            pass
        assert not gc.isenabled()
