"""Compares every law of the package with dry runs of random requests: ``python -m calibration.prove_laws [NUMBER]``."""

from __future__ import annotations

import sys

from diffprof.counting.derivation.prove import prove_law
from diffprof.laws.law_file import models_with_laws, packaged_law


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for place, model in enumerate(models_with_laws()):
        law = packaged_law(model)
        assert law is not None, "its file is there"
        prove_law(law, number, seed=place)
        print(model, number, "requests equal", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
