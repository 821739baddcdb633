"""Model folders and weight files: what is mutated with the libraries behind it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.fuzz.mutation import Mutator, dump
from tests.fuzz.subjects import Command, Subject

FEW = ("stable-diffusion", "stable-diffusion-3", "flux", "wan-2.1")
"""Those of the test suite: building each takes a while."""
MANY = (
    *FEW, "stable-diffusion-heun", "stable-diffusion-pndm", "stable-diffusion-xl", "pixart-sigma", "sana", "lumina2",
    "ddpm", "dit", "cogvideox", "qwen-image", "kandinsky-3", "kandinsky-2.2-decoder", "stable-cascade-decoder",
    "latte", "mochi", "ltx", "hunyuan-dit", "aura-flow", "z-image", "stable-video-diffusion", "text-to-video",
    "amused", "stable-audio", "audioldm2", "stable-diffusion-controlnet", "marigold-depth", "unclip",
)  # fmt: skip

SCHEDULERS = (
    "DDIMScheduler", "DDPMScheduler", "PNDMScheduler", "EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler",
    "HeunDiscreteScheduler", "LMSDiscreteScheduler", "KDPM2DiscreteScheduler", "DPMSolverMultistepScheduler",
    "DPMSolverSinglestepScheduler", "DEISMultistepScheduler", "UniPCMultistepScheduler", "LCMScheduler", "TCDScheduler",
    "FlowMatchEulerDiscreteScheduler", "FlowMatchHeunDiscreteScheduler", "EDMEulerScheduler", "SASolverScheduler",
    "IPNDMScheduler", "ScoreSdeVeScheduler", "DDIMParallelScheduler", "CMStochasticIterativeScheduler",
    "EDMDPMSolverMultistepScheduler", "DDPMWuerstchenScheduler", "AmusedScheduler", "RePaintScheduler",
)  # fmt: skip
CLASSES = (
    "CLIPTextModel", "T5EncoderModel", "CLIPTokenizer", "T5Tokenizer", "T5TokenizerFast", "AutoencoderKL", "AutoModel",
    "UNet2DModel", "Transformer2DModel", "AutoTokenizer", "CLIPImageProcessor", "AutoProcessor", "GPT2LMHeadModel",
    "LlamaForCausalLM", "PretrainedConfig", "Trainer", "pipeline", "ByT5Tokenizer", "BertModel", "",
)  # fmt: skip

SMALL = {"height": "64", "width": "64"}


class Folders(Subject):
    """Model folders in diffusers layout."""

    name = "folder"
    # Each takes ten times as long as one of another kind.
    weight = 4
    needs_torch = True
    names: tuple[str, ...] = MANY

    def prepare(self, corpus: Path) -> None:
        from tests.pipelines.folders import saved

        self.samples = [saved(name, corpus / name) for name in self.names]

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        sample = mutator.rng.choice(self.samples)
        target = folder / "model"
        shutil.copytree(sample, target)
        files = sorted(file for file in target.rglob("*") if file.is_file())
        for _ in range(mutator.rng.choice((1, 1, 1, 2, 3))):
            self._change(mutator, target, mutator.rng.choice(files))
        if mutator.rng.random() < 0.1:
            return [["models", "add", str(target), "--name", "mine", "--quiet"], ["models", "show", "mine"]]
        return [["profile", str(target), "--steps", "2", "--no-cache", "--quiet", "--json"]]

    def _change(self, mutator: Mutator, target: Path, file: Path) -> None:
        if not file.is_file():
            return
        data = file.read_bytes()
        kind = mutator.rng.random()
        if kind < 0.06:
            file.unlink()
        elif kind < 0.1:
            file.rename(file.with_name(str(mutator.rng.choice(("config.json", "model_index.json", "tokenizer.json")))))
        elif kind < 0.13:
            self._put_in_its_place(mutator, file)
        elif kind < 0.2:
            self._swap_class(mutator, target)
        elif file.suffix == ".json" and len(data) < 2_000_000:
            self._change_json(mutator, file, data)
        else:
            file.write_bytes(mutator.data(data))

    def _put_in_its_place(self, mutator: Mutator, file: Path) -> None:
        """A folder, or a link that leads in circles, nowhere, into the folder or to what has no end."""
        file.unlink()
        if mutator.rng.random() < 0.2:
            file.mkdir()
        else:
            file.symlink_to(mutator.rng.choice((file.name, "nowhere", "..", "config.json", "/dev/zero", "/dev/null")))

    def _change_json(self, mutator: Mutator, file: Path, data: bytes) -> None:
        try:
            file.write_bytes(mutator.json_text(json.loads(data)))
        except (ValueError, RecursionError):  # changed before
            file.write_bytes(mutator.data(data))

    def _swap_class(self, mutator: Mutator, target: Path) -> None:
        index = target / "model_index.json"
        try:
            values: dict[str, Any] = json.loads(index.read_bytes())
            slots = [slot for slot, value in values.items() if isinstance(value, list) and len(value) == 2]
        except (OSError, ValueError, RecursionError, AttributeError):
            return
        if not slots:
            return
        slot = "scheduler" if "scheduler" in slots and mutator.rng.random() < 0.7 else mutator.rng.choice(slots)
        values[slot] = [
            values[slot][0],
            mutator.rng.choice(SCHEDULERS) if slot == "scheduler" else mutator.rng.choice(CLASSES),
        ]
        index.write_bytes(dump(values))


class FewFolders(Folders):
    """A few of them, for the test suite."""

    names = FEW


class Entries(Subject):
    """A user's own entries, as ``models add`` writes them, counted."""

    name = "entry"
    weight = 1
    needs_torch = True

    def prepare(self, corpus: Path) -> None:
        from diffprof.catalogue.writer import entry_toml
        from diffprof.pipelines.describing import describe_source
        from tests.pipelines.folders import saved

        folders = [saved(name, corpus / name) for name in FEW]
        self.entries = [entry_toml(describe_source(str(folder), "mine")) for folder in folders]

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        (folder / "entries").mkdir()
        (folder / "entries" / "mine.toml").write_bytes(mutator.lines(mutator.rng.choice(self.entries)))
        return [["profile", "mine", "--steps", "1", "--no-cache", "--quiet", "--json"]]


class WeightFiles(Subject):
    """Headers of safetensors and GGUF files: alone, in a model's folder and as a LoRA."""

    name = "weights"
    weight = 5
    needs_torch = True

    def prepare(self, corpus: Path) -> None:
        from tests.pipelines.folders import saved

        self.folder = saved("stable-diffusion", corpus / "with-weights")
        tensors = {f"down_blocks.{n}.attn.to_{part}.weight": [8, 8] for n in range(4) for part in "qkv"}
        self.header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
        for place, (name, shape) in enumerate(tensors.items()):
            self.header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [place * 128, place * 128 + 128]}
        self.data_bytes = 128 * len(tensors)
        self.gguf = gguf_file(corpus / "w.gguf")

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        if mutator.rng.random() < 0.4:
            file = folder / "w.gguf"
            file.write_bytes(mutator.data(self.gguf))
            return [["profile", str(file), "--no-cache", "--quiet"]]
        text = mutator.json_text(self.header)
        length = len(text) if mutator.rng.random() < 0.9 else mutator.rng.choice((0, 1, 2**31, 2**63, len(text) * 2))
        data = length.to_bytes(8, "little") + text + bytes(self.data_bytes)
        kind = mutator.rng.choice(("alone", "alone", "folder", "lora"))
        if kind == "alone":
            (folder / "w.safetensors").write_bytes(data)
            return [["profile", str(folder / "w.safetensors"), "--no-cache", "--quiet"]]
        if kind == "lora":
            (folder / "l.safetensors").write_bytes(data)
            return [
                [
                    "profile",
                    str(self.folder),
                    "--lora",
                    str(folder / "l.safetensors"),
                    "--steps",
                    "1",
                    "--no-cache",
                    "-q",
                ]
            ]
        shutil.copytree(self.folder, folder / "model")
        (folder / "model" / "unet" / "diffusion_pytorch_model.safetensors").write_bytes(data)
        return [["profile", str(folder / "model"), "--steps", "1", "--no-cache", "--quiet", "--json"]]


def gguf_file(path: Path) -> bytes:
    import gguf
    import numpy

    writer = gguf.GGUFWriter(path, "flux")
    writer.add_array("tokenizer.words", ["a", "bc"])
    writer.add_array("comfy.gguf.orig_shape.conv", [2, 4, 8, 4])
    writer.add_tensor("norm", numpy.zeros(6, dtype=numpy.float32))
    writer.add_tensor("conv", numpy.zeros((8, 32), dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()
