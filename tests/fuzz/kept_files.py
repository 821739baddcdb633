"""What diffprof keeps for itself, damaged: answers of sweeps, cached profiles, and the laws of the package."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.fuzz.histories import change_rows, database_columns
from tests.fuzz.mutation import Mutator
from tests.fuzz.subjects import Command, Subject


class SweepStores(Subject):
    """The file of what sweeps have answered: a sweep that goes on reads it."""

    name = "sweep"
    weight = 4
    question = ("sweep", "models=sd-2.1-base", "sizes=512", "steps=20,30,40", "gpus=l4")

    def prepare(self, corpus: Path) -> None:
        from tests.fuzz.worker import run_command

        file = corpus / "sweeps.sqlite"
        assert run_command([*self.question, "--store", str(file), "--quiet"]).code == 0
        self.columns = database_columns(file)
        self.data = file.read_bytes()

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        file = folder / "sweeps.sqlite"
        if mutator.rng.random() < 0.6:
            file.write_bytes(self.data)
            change_rows(mutator, file, self.columns)
        else:
            file.write_bytes(mutator.data(self.data))
        way = mutator.rng.choice(([], ["--json"], ["--csv"], ["-o", str(folder / "out.html")]))
        return [[*self.question, "--store", str(file), "--quiet", *way]]


class Laws(Subject):
    """A law of the package that was damaged; one that was written anew is part of the program, as its code is."""

    name = "law"
    weight = 2
    model = "dit-xl-2-256"

    def prepare(self, corpus: Path) -> None:
        from diffprof.laws import law_file

        self.data = (law_file.FOLDER / f"{self.model}{law_file.ENDING}").read_bytes()

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        (folder / f"{self.model}.law").write_bytes(mutator.data(self.data))
        return [
            mutator.rng.choice(
                (
                    ["profile", self.model, "--json"],
                    ["scale", self.model],
                    ["fit", self.model, "--gpu", "l4"],
                    ["sweep", f"models={self.model}", "gpus=l4", "--quiet"],
                )
            )
        ]

    def surroundings(self, folder: Path) -> AbstractContextManager[Any]:
        """An install with this one law and without torch."""
        from diffprof.counting import request_profile
        from diffprof.laws import law_file

        law_file._read_once.cache_clear()
        stack = ExitStack()
        stack.enter_context(patch.object(law_file, "FOLDER", folder))
        stack.enter_context(patch.object(request_profile, "can_count", lambda: False))
        stack.callback(law_file._read_once.cache_clear)
        return stack


class CachedProfiles(Subject):
    """A profile in the cache: what is damaged is counted again."""

    name = "cache"
    weight = 1
    needs_torch = True
    question = ("profile", "shapes", "--count", "--steps", "1", "--quiet", "--json")

    def prepare(self, corpus: Path) -> None:
        from tests.fuzz.worker import run_command

        os.environ["DIFFPROF_CACHE_DIR"] = str(corpus)
        assert run_command(list(self.question)).code == 0
        (self.entry,) = corpus.glob("*.json.gz")
        self.text = gzip.decompress(self.entry.read_bytes())

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        entry = folder / "cache" / self.entry.name
        entry.parent.mkdir()
        kind = mutator.rng.random()
        if kind < 0.1:
            self._put_in_its_place(mutator, entry)
        else:
            packed = gzip.compress(mutator.json_text(json.loads(self.text)), 1, mtime=0)
            entry.write_bytes(mutator.data(packed) if kind < 0.3 else packed)
        return mutator.rng.choice(([list(self.question)], [["cache", "clear"]], [["cache"], list(self.question)]))

    def _put_in_its_place(self, mutator: Mutator, entry: Path) -> None:
        kind = mutator.rng.choice(("folder", "link", "pipe"))
        if kind == "folder":
            entry.mkdir()
        elif kind == "pipe":
            os.mkfifo(entry)
        else:
            entry.symlink_to(mutator.rng.choice((entry.name, "nowhere", "/dev/zero", "..")))
