"""The collector rests for as long as it is told to, and no longer."""

from __future__ import annotations

import gc

import pytest

from diffprof.counting.garbage_collection import freeze_existing_objects, no_garbage_collection


def test_the_collector_is_on_again_also_after_an_error() -> None:
    with pytest.raises(ValueError, match="anything"), no_garbage_collection():
        assert not gc.isenabled()
        raise ValueError("anything")
    assert gc.isenabled()


@pytest.mark.parametrize(("frozen", "expected"), [(0, ["freeze", "unfreeze"]), (5, [])])
def test_objects_become_old_ones_unless_somebody_has_frozen_some(
    frozen: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector itself is that of all tests, of which some have frozen what they share."""
    called: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    for name in ("freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda name=name: called.append(name))
    freeze_existing_objects()
    assert called == expected


def test_a_collector_that_was_off_stays_off() -> None:
    with no_garbage_collection():
        with no_garbage_collection():
            pass
        assert not gc.isenabled()
