"""The laws of the package say what dry runs say. `make laws` compares more requests of each."""

from __future__ import annotations

import pytest

from diffprof.counting.derivation.prove import prove_law
from diffprof.laws.law_file import models_with_laws, packaged_law

TRIED = [model for model in ("sd-2.1-base", "flux.1-dev") if model in models_with_laws()]


@pytest.mark.parametrize("model", TRIED)
def test_a_law_of_the_package_says_what_a_dry_run_says(model: str) -> None:
    law = packaged_law(model)
    assert law is not None
    prove_law(law, number=1, seed=7)
