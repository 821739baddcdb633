"""Compares laws of the package with dry runs of random requests.

    python -m calibration.prove_laws [NUMBER] [MODEL ...]

NUMBER requests, 10 unless said otherwise, of each MODEL, or of every model that has a law.
"""

from __future__ import annotations

import sys

from diffprof.counting.derivation.prove import prove_law
from diffprof.laws.law_file import models_with_laws, packaged_law, recorded_law
from diffprof.laws.packing import NoLaw

USUAL_NUMBER = 10


def main() -> None:
    number = next((int(argument) for argument in sys.argv[1:] if argument.isdigit()), USUAL_NUMBER)
    names = [argument for argument in sys.argv[1:] if not argument.isdigit()]
    wrong = [model for place, model in enumerate(names or models_with_laws()) if not _holds(model, number, place)]
    if wrong:
        raise SystemExit(f"Not what a dry run says: {', '.join(wrong)}")


def _holds(model: str, number: int, seed: int) -> bool:
    law = packaged_law(model)
    if law is None:
        raise SystemExit(f"{model} has no law.")
    recorded = recorded_law(model)
    try:
        prove_law(law, number, seed)
        if recorded is not None:
            prove_law(recorded, 1, seed)
    except NoLaw as error:
        print(error, flush=True)  # noqa: T201
        return False
    print(model, number, "requests equal", flush=True)  # noqa: T201
    return True


if __name__ == "__main__":
    main()
