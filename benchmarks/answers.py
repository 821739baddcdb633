"""How long `fit`, `predict` and `advise` take, against showing the profile that they read and against counting it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import interleaved, run

MODEL = "flux.1-dev"
MANY = """
import json, sys, time
import diffprof
from diffprof.advice.predict import PredictionRequest, predict_profile
from diffprof.catalogue.accelerators import accelerators
profile = diffprof.load(sys.argv[1])
names = tuple(entry.name for entry in accelerators())[:60]
predict_profile(profile, PredictionRequest(names[:1]))
begun = time.perf_counter()
predict_profile(profile, PredictionRequest(names))
print(json.dumps(time.perf_counter() - begun), "torch" in sys.modules)
"""


Row = tuple[str, float, float, str, str]
"""What, the figure, its limit, its unit, and of what."""


def measure_answers(repeats: int) -> Iterator[Row]:
    """On a cached profile, and of a model that was never counted."""
    with tempfile.TemporaryDirectory() as folder:
        cache = {"DIFFPROF_CACHE_DIR": folder}
        file = str(Path(folder) / "profile.json.gz")
        run(("-m", "diffprof", "profile", MODEL, "-o", file), cache)
        run(("-m", "diffprof", "profile", MODEL), cache)
        found = interleaved(
            {
                "show": lambda: run(("-m", "diffprof", "profile", MODEL), cache),
                "fit": lambda: run(("-m", "diffprof", "fit", MODEL, "--gpu", "rtx-4090"), cache),
                "predict": lambda: run(("-m", "diffprof", "predict", MODEL, "--gpu", "h100-sxm,rtx-4090"), cache),
                "many": lambda: run(("-c", MANY, file), cache),
            },
            repeats,
        )
        fresh = interleaved(
            {
                "profile": lambda: run(("-m", "diffprof", "profile", MODEL, "--no-cache")),
                "count": lambda: run(("-m", "diffprof", "profile", MODEL, "--no-cache", "--count")),
                "advise": lambda: run(("-m", "diffprof", "advise", MODEL, "--gpu", "rtx-4090"), _empty_cache(folder)),
            },
            repeats,
        )
    for name in ("fit", "predict"):
        more = found[name].seconds - found["show"].seconds
        yield (f"`{name}` of a cached profile, more than showing it", more, 0.5, "s", MODEL)
    seconds, torch = found["many"].output.split()
    assert torch == "False", "predicting imported torch"
    yield ("sixty accelerators and one profile", float(seconds), 1.0, "s", f"{MODEL}, in one process")
    for name, words in (
        ("profile", "`advise` against `profile`, by law"),
        ("count", "`advise` against `profile --count`"),
    ):
        ratio = fresh["advise"].seconds / fresh[name].seconds
        yield (words, ratio, 3.0, "times", f"{MODEL}, nothing cached")


def _empty_cache(folder: str) -> dict[str, str]:
    return {"DIFFPROF_CACHE_DIR": tempfile.mkdtemp(dir=folder)}
