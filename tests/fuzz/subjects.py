"""What is mutated: for each kind of file, samples of it, and the commands that read it."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

from tests.fuzz.mutation import Mutator, dump
from tests.fuzz.outcome import Check, check_trace

Command = list[str]


class Subject(ABC):
    """One kind of file: it is prepared once, and each case writes a variant into its own folder."""

    name: ClassVar[str]
    weight: ClassVar[int]
    """How often it is tried, compared to the others."""
    needs_torch: ClassVar[bool] = False
    check: ClassVar[Check | None] = None
    """Looks at what the commands printed."""
    chooses_places: ClassVar[bool] = False
    """Whether to say where the user's own files are is what the file is for."""

    @abstractmethod
    def prepare(self, corpus: Path) -> None:
        """Make the samples; `corpus` is a folder for them."""

    @abstractmethod
    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        """Write a variant into the folder; the commands to read it with."""

    def surroundings(self, folder: Path) -> AbstractContextManager[Any]:
        """What holds while the commands run."""
        return nullcontext()


class Profiles(Subject):
    """Saved profiles, shown, exported, compared, gated and predicted from."""

    name = "profile"
    weight = 22

    def prepare(self, corpus: Path) -> None:
        from diffprof.record.files import dumps
        from tests import sample_profiles as samples

        made = (samples.stable_diffusion(), samples.everything_measured(), samples.nothing(), samples.hostile())
        self.values = [json.loads(dumps(profile)) for profile in made]
        (corpus / "base.json").write_text(dumps(samples.stable_diffusion()), encoding="utf-8")
        self.base = str(corpus / "base.json")
        # A few kilobytes each, which stand for hundreds of megabytes of lists, or for a depth that no stack has.
        bombs = (b"[" + b"[]," * 9_000_000, b"[" * 1_000_000)
        self.bombs = [gzip.compress(bomb, 1, mtime=0) for bomb in bombs]
        old = Path(__file__).parent.parent / "record" / "data"
        self.values += [
            json.loads(gzip.decompress(file.read_bytes())) for file in sorted(old.glob("shapes.v1.json.gz"))
        ]

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        text = mutator.json_text(mutator.rng.choice(self.values))
        ending, data = mutator.rng.choice(
            (("json", text), ("json", text), ("json.gz", gzip.compress(text, 1, mtime=0)))
        )
        file = folder / f"p.{ending}"
        file.write_bytes(mutator.data(data) if ending == "json.gz" and mutator.rng.random() < 0.3 else data)
        if mutator.rng.random() < 0.01:
            file.write_bytes(mutator.rng.choice(self.bombs))
        name, out = str(file), str(folder / "out")
        return mutator.rng.choice(
            (
                [["show", name]],
                [["show", name, "--json"]],
                [["show", name, "--by", mutator.rng.choice(("module", "operation", "step", "component", "attention"))]],
                [["show", name, "-v", "--csv"]],
                [["show", name, "-o", f"{out}.{mutator.rng.choice(('txt', 'csv', 'json', 'json.gz'))}"]],
                [["compare", self.base, name]],
                [["compare", name, self.base, "--json"]],
                [["gate", *mutator.rng.sample((self.base, name), 2)]],
                [["predict", name, "--gpu", "rtx-4090"]],
                [["fit", name, "--gpu", "rtx-4090"]],
                [["predict", self.base, "--gpu", "l4", "--profile", name]],
                [["card", name]],
                [["report", name, "--tables", out]],
                [["report", name, "--tables", out, "--parquet"]],
                [["report", name, "--chrome-trace", f"{out}.json"]],
                [["report", name, "--speedscope", f"{out}.speedscope.json"]],
                [["report", name, "-o", f"{out}.html"]],
            )
        )


class Traces(Subject):
    """Traces of torch.profiler."""

    name = "trace"
    weight = 20
    check = staticmethod(check_trace)

    def prepare(self, corpus: Path) -> None:
        self.trace = built_trace()

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        text = mutator.json_text(self.trace)
        if mutator.rng.random() < 0.2:
            # Numbers of JSON that no number of Python stands for.
            text = text.replace(b'"dur":', b'"dur":' + mutator.rng.choice((b"1e400,", b"-1e18,", b"9e18,", b"1.5,")), 1)
        if mutator.rng.random() < 0.2:
            file, data = folder / "t.json.gz", gzip.compress(text, 1, mtime=0)
            file.write_bytes(mutator.data(data) if mutator.rng.random() < 0.5 else data)
        else:
            file = folder / "t.json"
            file.write_bytes(text)
        name = str(file)
        return mutator.rng.choice(
            (
                [["trace", name]],
                [["trace", name, "--json"]],
                [["trace", name, "--json", "--overlay", str(folder / "overlay.json")]],
                [["trace", name, "--csv", "--by", mutator.rng.choice(("kernel", "idle", "timeline", "attention"))]],
                [["trace", name, "--against", name, "--json"]],
            )
        )


def built_trace() -> Any:
    """A trace with something of everything that is explained."""
    from tests.traces.trace_builder import TraceBuilder

    trace = TraceBuilder(traceName="t", deviceProperties=[{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85e9}])
    trace.section("unet", 0, 900)
    trace.python("diffusers/pipelines/x.py(10): __call__", 0, 950)
    for number in range(3):
        start = 100.0 * number
        trace.op("aten::linear", start, start + 60)
        trace.op(
            "aten::scaled_dot_product_attention", start + 60, start + 90,
            **{"Input Dims": [[1, 8, 64, 40]] * 3, "Input type": ["c10::Half"] * 3},
        )  # fmt: skip
        trace.kernel("ampere_fp16_gemm", start + 20.5, start + 50, launched=start + 5)
        trace.kernel("flash_fwd_kernel", start + 70, start + 95.25, launched=start + 62)
        trace.copy("Memcpy HtoD (Pageable -> Device)", start + 96, start + 99, launched=start + 91, bytes=4096)
        trace.memory(start + 30, allocated=10**6 * (number + 1), reserved=2 * 10**6)
    trace.call("cudaStreamSynchronize", 400, 500)
    trace.gpu("unet", 10, 400, category="gpu_user_annotation")
    return {**trace.metadata, "traceEvents": trace.events}


class Snapshots(Subject):
    """Memory snapshots of torch: pickles that are not unpickled."""

    name = "snapshot"
    weight = 10

    def prepare(self, corpus: Path) -> None:
        from tests.traces.memory.test_explain import snapshot

        for failed in (False, True):
            snapshot(corpus / f"{failed}.pickle", failed)
        self.data = [(corpus / f"{failed}.pickle").read_bytes() for failed in (False, True)]
        self.values = [pickle.loads(data) for data in self.data]

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        file = folder / "s.pickle"
        if mutator.rng.random() < 0.6:
            try:
                data = pickle.dumps(mutator.tree(mutator.rng.choice(self.values)), mutator.rng.choice((0, 2, 4)))
            except RecursionError:
                data = b"\x80\x04" + b"]\x85" * 5000 + b"."
        else:
            data = mutator.data(mutator.rng.choice((*self.data, pickle.dumps(pickle.loads), MANY_LISTS)))
        file.write_bytes(data)
        return [["memory", str(file), *mutator.rng.choice(([], ["--json"], ["--top", "1"]))]]


MANY_LISTS = b"\x80\x04](" + b"]" * 200_000 + b"e."
"""A byte of the file for a list of sixty in memory."""


class Pictures(Subject):
    """Pictures that are compared beside profiles."""

    name = "picture"
    weight = 8

    def prepare(self, corpus: Path) -> None:
        from PIL import Image

        from tests.sample_profiles import stable_diffusion

        self.pictures = {}
        image = Image.effect_noise((24, 16), 60).convert("RGB")
        for ending, name in (("png", "PNG"), ("jpg", "JPEG"), ("webp", "WEBP")):
            out = io.BytesIO()
            image.save(out, name)
            self.pictures[ending] = out.getvalue()
        stable_diffusion().save(corpus / "a.json")
        image.save(corpus / "a.png")
        self.base = corpus / "a.json"

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        ending = mutator.rng.choice(sorted(self.pictures))
        data = self.pictures[ending]
        if ending == "png" and mutator.rng.random() < 0.4:
            data = png_of_size(*(mutator.rng.choice((0, 1, 24, 65_536, 2**31 - 1, 2**32 - 1)) for _ in range(2)))
        (folder / f"b.{ending}").write_bytes(mutator.data(data) if mutator.rng.random() < 0.8 else data)
        (folder / "b.json").write_bytes(self.base.read_bytes())
        return [["compare", str(self.base), str(folder / "b.json")]]


def png_of_size(width: int, height: int) -> bytes:
    """A PNG that announces a size; its data is far too short."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\x00" * 99))
        + chunk(b"IEND", b"")
    )


def json_files(folder: Path) -> Mapping[str, Any]:
    """The JSON files below a folder, by their path."""
    return {
        str(file.relative_to(folder)): json.loads(file.read_bytes())
        for file in sorted(folder.rglob("*.json"))
        if file.stat().st_size < 2_000_000
    }


__all__ = ["Command", "Pictures", "Profiles", "Snapshots", "Subject", "Traces", "dump"]
