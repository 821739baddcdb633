"""Saved answers of ``fit``, ``predict`` and ``advise``, mutated and printed again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fuzz.mutation import Mutator
from tests.fuzz.subjects import Command, Subject


class Answers(Subject):
    """What ``diffprof fit``, ``predict`` and ``advise`` wrote, shown in every format."""

    name = "answer"
    weight = 6

    def prepare(self, corpus: Path) -> None:
        import diffprof
        from tests.advice.views.answers import ADVICE

        self.values = [
            json.loads(diffprof.fit("sd-2.1-base", gpu="l4").to_json()),
            json.loads(diffprof.predict("sd-2.1-base", gpu="l4,h100-sxm").to_json()),
            json.loads(ADVICE.to_json()),
        ]

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        file = folder / "answer.json"
        file.write_bytes(mutator.json_text(mutator.rng.choice(self.values)))
        way = mutator.rng.choice(
            ([], ["-v"], ["--json"], ["--csv"], ["--markdown"], ["-o", str(folder / "out.html")]),
        )
        return [["show", str(file), *way]]
