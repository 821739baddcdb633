"""Files that a user writes, or that are kept beside them: settings, entries, accelerators, measured accelerators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.fuzz.mutation import Mutator
from tests.fuzz.subjects import Command, Subject

SETTINGS = """default_model = "shapes"
default_steps = 20
default_guidance_scale = 7.5
default_width = 512
default_seed = 3
default_fps = 8
size_presets = { small = [64, 64] }
output_dir = "outputs"
model_dirs = ["models", "more"]
model_memory_limit = "8GB"
device = "cpu"
dtype = "float16"
offload = "model"
keep = false
history = "history.sqlite"
cache_dir = "cache"
enable_compute_profiling = true"""


class Configurations(Subject):
    """Settings, entries of the catalogue, accelerators and what was measured of them: the files that a user has."""

    name = "configuration"
    weight = 14
    chooses_places = True

    def prepare(self, corpus: Path) -> None:
        from diffprof import catalogue
        from diffprof.catalogue.accelerators import find_accelerator
        from diffprof.catalogue.own_accelerators import accelerators_toml
        from tests.sample_profiles import stable_diffusion

        places = Path(catalogue.__file__).parent
        self.entry = (places / "models" / "sd-2.1-base.toml").read_text(encoding="utf-8")
        self.accelerators = (
            (places / "hardware.toml").read_text(encoding="utf-8")[:6000].rsplit("[[accelerator]]", 1)[0]
        )
        known = find_accelerator("l4")
        measured = {"product_share": 0.7, "bandwidth_share": 0.8, "kernel_seconds": 3e-6, "operation_seconds": 5e-6}
        self.measured = accelerators_toml([replace(known, name="mine", aliases=(), measured=measured)])
        self.profile = str(stable_diffusion().save(corpus / "profile.json"))

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        kind = mutator.rng.choice((self._settings, self._entry, self._accelerators, self._calibration))
        return kind(mutator, folder)

    def _settings(self, mutator: Mutator, folder: Path) -> list[Command]:
        file = mutator.rng.choice((folder / "diffprof.toml", folder / "config" / "diffprof" / "config.toml"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(mutator.lines(SETTINGS))
        return mutator.rng.choice(([["config"]], [["cache"]], [["history", "list"]], [["models", "sd"]]))

    def _entry(self, mutator: Mutator, folder: Path) -> list[Command]:
        (folder / "entries").mkdir()
        (folder / "entries" / "mine.toml").write_bytes(mutator.lines(self.entry.replace("sd-2.1-base", "mine")))
        return [mutator.rng.choice((["models", "mine"], ["models", "show", "mine"]))]

    def _accelerators(self, mutator: Mutator, folder: Path) -> list[Command]:
        file = folder / "hardware.toml"
        file.write_bytes(mutator.lines(self.accelerators))
        listed = ["hardware", "--file", str(file)]
        used = [self.profile, "--gpu", "h100-sxm", "--hardware", str(file)]
        return [
            mutator.rng.choice(
                (listed, [*listed, "--json"], [*listed, "--csv"], ["predict", *used], ["fit", *used, "--json"])
            )
        ]

    def _calibration(self, mutator: Mutator, folder: Path) -> list[Command]:
        """What ``hardware calibrate`` has kept beside the user's settings."""
        file = folder / "config" / "diffprof" / "hardware.toml"
        file.parent.mkdir(parents=True)
        file.write_bytes(mutator.lines(self.measured))
        used = [self.profile, "--gpu", "mine"]
        return [
            mutator.rng.choice(
                (["hardware", "show", "mine"], ["predict", *used, "--json"], ["fit", *used], ["hardware"])
            )
        ]
