"""The laws of the package say what dry runs say. `make laws` compares more requests of each."""

from __future__ import annotations

import datetime
import random

import pytest

from diffprof.counting.derivation.prove import prove_law
from diffprof.laws.law_file import models_with_laws, packaged_law

TODAY = datetime.date.today().toordinal()
"""Seeds the choice below: another model and other requests every day, and the same ones all day long."""


@pytest.mark.parametrize("model", ["sd-2.1-base", "flux.1-dev"])
def test_a_law_of_the_package_says_what_a_dry_run_says(model: str) -> None:
    law = packaged_law(model)
    assert law is not None
    prove_law(law, number=1, seed=TODAY)


def test_the_law_of_the_day_says_what_a_dry_run_says() -> None:
    models = models_with_laws()
    random.Random(0).shuffle(models)  # neighbours by name are alike
    law = packaged_law(models[TODAY % len(models)])
    assert law is not None
    prove_law(law, number=1, seed=TODAY)
