"""Laws of the package say what dry runs say, for requests that are always the same. `make laws` tries every law."""

from __future__ import annotations

import pytest

from diffprof.counting.derivation.prove import prove_law
from diffprof.laws.law_file import packaged_law, recorded_law


@pytest.mark.parametrize("model", ["sd-2.1-base", "flux.1-dev", "sana-600m-512", "sdxl", "dit-xl-2-256", "bk-sdm-base"])
def test_a_law_of_the_package_says_what_a_dry_run_says(model: str) -> None:
    law = packaged_law(model)
    assert law is not None
    prove_law(law, number=1, seed=7)


def test_a_request_that_was_recorded_says_what_a_dry_run_says() -> None:
    law = recorded_law("sd-2.1-base")
    assert law is not None
    assert {("vae_tiling",), ()} == {domain.variation.enable for domain in law.domains}
    prove_law(law, number=1, seed=7)
