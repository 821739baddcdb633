"""What the tests of measured runs share with those of counting."""

from tests.counting.conftest import dry_runs, run, virtual_models

__all__ = ["dry_runs", "run", "virtual_models"]
