"""What is measured against what, and how much it may be."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.answers import measure_answers
from benchmarks.processes import Run, interleaved, run

FLUX = ("-m", "diffprof", "profile", "flux.1-dev", "--height", "1024", "--width", "1024", "--json")
WAN = ("-m", "diffprof", "profile", "wan2.1-t2v-14b", "--width", "832", "--height", "480", "--frames", "81", "--json")
IMPORTS = "import torch\nfrom diffusers import FluxPipeline\nfrom transformers import T5EncoderModel, CLIPTextModel"
STEPS = ("-m", "diffprof", "profile", "sd-2.1-base", "--json", "--steps")
FRESH = ("--no-cache", "--count")


@dataclass(frozen=True)
class Result:
    """One figure next to the limit it has to keep."""

    what: str
    figure: float
    limit: float | None
    """None: shown for what it is, without a limit."""
    unit: str
    detail: str
    at_least: bool = False

    @property
    def kept(self) -> bool:
        if self.limit is None:
            return True
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit


def whole_commands(repeats: int) -> Iterator[Result]:
    """FLUX against the imports it needs, a long film against FLUX, and many steps against one."""
    found = interleaved(
        {
            "imports": lambda: run(("-c", IMPORTS)),
            "flux": lambda: run((*FLUX, *FRESH)),
            "wan": lambda: run((*WAN, *FRESH)),
            "one step": lambda: run((*STEPS, "1", *FRESH)),
            "fifty steps": lambda: run((*STEPS, "50", *FRESH)),
        },
        repeats,
    )
    imports, flux, wan = found["imports"], found["flux"], found["wan"]
    yield _times("`profile flux.1-dev` at 1024x1024 / importing what it needs", flux, imports, 1.15)
    yield _memory("`profile flux.1-dev`: peak memory", flux, 700)
    yield _times("`profile wan2.1-t2v-14b` at 832x480, 81 frames / FLUX", wan, flux, 2.0)
    yield _memory("`profile wan2.1-t2v-14b`: peak memory", wan, 1500)
    yield _times("`profile sd-2.1-base`: 50 steps / 1 step", found["fifty steps"], found["one step"], 1.2)


BY_LAW = ("-m", "diffprof", "profile", "flux.1-dev", "--height", "1024", "--width", "1024", "--no-cache")
MANY_SIZES = """
import time
from diffprof.counting.request_profile import count_request
from diffprof.record.request import Request
begun = time.process_time()
for number in range(1000):
    sides = {"height": 256 + 8 * (number % 100), "width": 256 + 8 * (number // 10)}
    profile = count_request(Request.create("sd-2.1-base", sides), use_cache=False)
    assert profile.counted_by == "law" and profile.total.macs
print(time.process_time() - begun)
"""


def laws(repeats: int) -> Iterator[Result]:
    """A profile by law against the imports that a count needs, and a thousand sizes of one model."""
    found = interleaved({"imports": lambda: run(("-c", IMPORTS)), "law": lambda: run(BY_LAW)}, repeats)
    yield _times("`profile flux.1-dev` by law / importing what a count needs", found["law"], found["imports"], 0.08)
    yield _memory("`profile flux.1-dev` by law: peak memory", found["law"], 120)
    seconds = sorted(float(run(("-c", MANY_SIZES)).output) for _ in range(repeats))[repeats // 2]
    yield Result("1,000 sizes of one model by law", seconds, 1.0, "s", "of the CPU, one process without its start")


def sweeps(repeats: int) -> Iterator[Result]:
    """Many models, sizes and accelerators in one process; see `benchmarks.many_points`."""
    found = [json.loads(run(("-m", "benchmarks.many_points")).output) for _ in range(max(1, repeats // 2))]
    middle = sorted(found, key=lambda one: one["seconds"])[len(found) // 2]
    scaled = middle["seconds"] * 60 / middle["models"]
    measured = f"{middle['points']:,} points of {middle['models']} models in {middle['seconds']:.1f} s of the CPU"
    what = "60 models x 20 sizes x 10 accelerators by law"
    yield Result(what, scaled, 60.0, "s", measured if middle["models"] == 60 else f"{measured}, for 60 models")


def cache(repeats: int) -> Iterator[Result]:
    """The same request again, from the shell."""
    firsts, agains = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"DIFFPROF_CACHE_DIR": folder}
            first = run((*FLUX, "--count"), environment)
            again = run((*FLUX, "--count"), environment)
            assert first.output == again.output, "the cache gave another profile"
            firsts.append(first)
            agains.append(again)
    middle = sorted(zip(firsts, agains, strict=True), key=lambda pair: pair[1].seconds / pair[0].seconds)[repeats // 2]
    yield _times("the same request again, from the cache / the first time", middle[1], middle[0], 0.1)


def start(repeats: int) -> Iterator[Result]:
    """How soon help is there."""
    found = interleaved(
        {"pass": lambda: run(("-c", "pass")), "help": lambda: run(("-m", "diffprof", "--help"))}, 4 * repeats
    )
    yield _times("`diffprof --help` / `python -c pass`", found["help"], found["pass"], 4.0)


def in_process(repeats: int) -> Iterator[Result]:
    """Steps and resolutions in one process; see `benchmarks.in_process`."""
    for model, title in (("sd-2.1-base", "Stable Diffusion 2.1"), ("flux.1-dev", "FLUX.1-dev")):
        found = [json.loads(run(("-m", "benchmarks.in_process", model)).output) for _ in range(repeats)]
        steps = sorted(found, key=lambda one: one["fifty_steps"] / one["one_step"])[repeats // 2]
        yield Result(
            f"{title}: 50 steps / 1 step, model opened before",
            steps["fifty_steps"] / steps["one_step"], None, "x",
            f"{steps['fifty_steps']:.3f} s / {steps['one_step']:.3f} s",
        )  # fmt: skip
        sizes = sorted(found, key=lambda one: one["second_size"] / one["first_size"])[repeats // 2]
        yield Result(
            f"{title}: a second resolution / the first of a process",
            sizes["second_size"] / sizes["first_size"], 0.05, "x",
            f"{sizes['second_size']:.3f} s / {sizes['first_size']:.3f} s",
        )  # fmt: skip


def other_counters(repeats: int) -> Iterator[Result]:
    """The UNet of Stable Diffusion 2.1 at batch 2. Those that compute for real run once: each takes about a teraMAC."""
    from diffprof.crosscheck.run_tools import crosscheck

    arguments = {"height": 512, "width": 512, "guidance_scale": 7.5}
    real = crosscheck("sd-2.1-base", None, arguments, ("thop-sdpa", "calflops", "fvcore"), timeout=3600)
    ours = real.truth
    assert ours.seconds and ours.peak_bytes
    for count in real.counts[1:]:
        if count.seconds is None or count.peak_bytes is None:
            raise SystemExit(f"{count.title}: {count.reason}")
        detail = f"{count.seconds:.1f} s / {ours.seconds:.2f} s"
        yield Result(f"{count.title} / diffprof, time", count.seconds / ours.seconds, 20, "x", detail, at_least=True)
        detail = f"{count.peak_bytes / 1e9:.2f} GB / {ours.peak_bytes / 1e9:.2f} GB"
        yield Result(
            f"{count.title} / diffprof, memory", count.peak_bytes / ours.peak_bytes, 5, "x", detail, at_least=True
        )
    yield from _against_flop_counter(arguments, repeats)


def _against_flop_counter(arguments: Mapping[str, object], repeats: int) -> Iterator[Result]:
    from diffprof.crosscheck.run_tools import crosscheck

    found = [crosscheck("sd-2.1-base", None, arguments, ("torch-meta",)).counts for _ in range(repeats)]
    pairs = [(ours.seconds or 0.0, theirs.seconds or 0.0) for ours, theirs in found]
    ours, theirs = sorted(pairs, key=lambda pair: pair[0] / pair[1])[repeats // 2]
    yield Result(
        "diffprof / torch FlopCounterMode on meta, time", ours / theirs, 1.0, "x", f"{ours:.2f} s / {theirs:.2f} s"
    )


def sections(repeats: int) -> Iterator[Result]:
    """An empty section against torch's own; see `benchmarks.sections`."""
    found = [json.loads(run(("-m", "benchmarks.sections")).output) for _ in range(repeats)]
    for state, limit in (("enabled", 1.0), ("disabled", 0.1)):
        middle = sorted(found, key=lambda one: one[f"{state}_ratio"])[repeats // 2]
        detail = f"{middle[state]:.0f} ns / {middle['record_function']:.0f} ns"
        yield Result(f"`profile_section`, {state} / `record_function`", middle[f"{state}_ratio"], limit, "x", detail)


def measured_runs(repeats: int) -> Iterator[Result]:
    """A pipeline that is measured against the same one left alone; see `benchmarks.measured_runs`."""
    found = [json.loads(run(("-m", "benchmarks.measured_runs")).output) for _ in range(max(1, repeats // 2))]
    titles = {
        "measured": ("a profiled call", 1.01),
        "sampled": ("with the sampler at 10 Hz", 1.02),
        "traced": ("traced", None),
    }
    for way, (title, limit) in titles.items():
        middle = sorted(found, key=lambda one: one[f"{way}_ratio"])[len(found) // 2]
        detail = f"{middle[way]:.3f} s / {middle['plain']:.3f} s, steps of {1000 * middle['step']:.0f} ms"
        yield Result(f"{title} / an unprofiled call", middle[f"{way}_ratio"], limit, "x", detail)


def predictions(repeats: int) -> Iterator[Result]:
    """How far predicted times are off on this machine; see `benchmarks.predictions`."""
    found = json.loads(run(("-m", "benchmarks.predictions")).output)
    off = 100 * found["median_error"]
    number = f"{len(found['pipelines'])} pipelines on a calibrated CPU"
    yield Result("median error of predicted times", off, 15, "%", number)


def gate(repeats: int) -> Iterator[Result]:
    """How often the gate is wrong about times; see `benchmarks.gate`. One run: it makes its own repetitions."""
    found = json.loads(run(("-m", "benchmarks.gate")).output)
    noise = (
        f"calls of {found['median_ms']:.0f} ms that spread by {found['spread']:.0%}, {found['cpu_share']:.0%} of a core"
    )
    for name, title in (
        ("equal_in_turns", "false alarms about the same code, measured in turns"),
        ("equal_one_after_the_other", "false alarms about the same code, one after the other"),
    ):
        one = found[name]
        detail = f"{one['failed']} of {one['decisions']}; {noise}"
        yield Result(f"gate: {title}", 100 * one["failed"] / one["decisions"], 1, "%", detail)
    slower = found["slower_in_turns"]
    detail = f"{slower['failed']} of {slower['decisions']}, {found['slower']:.3f} x the CPU time; {noise}"
    yield Result(
        "gate: a tenth slower is found with 20 samples a side, measured in turns",
        100 * slower["failed"] / slower["decisions"], 95, "%", detail, at_least=True,
    )  # fmt: skip


def _times(what: str, run: Run, against: Run, limit: float) -> Result:
    return Result(what, run.seconds / against.seconds, limit, "x", f"{run.seconds:.3g} s / {against.seconds:.3g} s")


def _memory(what: str, run: Run, limit: float) -> Result:
    return Result(what, run.peak_bytes / 1e6, limit, "MB", "the most of all runs")


def traces(repeats: int) -> Iterator[Result]:
    """Traces of torch.profiler; see `benchmarks.traces`."""
    from benchmarks.traces import against_holistic_trace_analysis, five_million_events

    both = against_holistic_trace_analysis(repeats)
    if both is not None:
        other, ours = both
        detail = f"{other.seconds:.2f} s / {ours.seconds:.2f} s"
        ratio = other.seconds / ours.seconds
        yield Result("a real trace: HolisticTraceAnalysis / diffprof, time", ratio, 3, "x", detail, at_least=True)
        detail = f"{ours.peak_bytes / 1e6:.0f} MB / {other.peak_bytes / 1e6:.0f} MB"
        share = ours.peak_bytes / other.peak_bytes
        yield Result("a real trace: diffprof / HolisticTraceAnalysis, memory", share, 1, "x", detail)
    yield _memory("`trace` of 5 million events, peak memory", five_million_events(), 3000)


def history(repeats: int) -> Iterator[Result]:
    """A history of 100,000 runs; see `benchmarks.history`."""
    seconds = json.loads(run(("-m", "benchmarks.history")).output)
    size = seconds.pop("bytes")
    others = {
        "`diffprof history list`": (seconds.pop("command"), "best of 7, the whole command, with its start"),
        "export of all to CSV": (seconds.pop("export"), "best of 2"),
        "prune of a hundred": (seconds.pop("prune"), "once; the space is freed"),
    }
    for name, taken in seconds.items():
        yield Result(f"100,000 kept runs: {name}", taken, 0.3, "s", f"best of 7, a store of {size / 1e6:.0f} MB")
    for name, (taken, how) in others.items():
        yield Result(f"100,000 kept runs: {name}", taken, None, "s", how)


def reports(repeats: int) -> Iterator[Result]:
    """A report in a browser; see `benchmarks.reports`."""
    found = json.loads(run(("-m", "benchmarks.reports")).output)
    yield Result("a report opens from disk", found["opened"], 2, "s", f"made in {found['made']:.2f} s")
    yield Result("the size of a report", found["bytes"] / 1e6, 6, "MB", "one self-contained page")


def answers(repeats: int) -> Iterator[Result]:
    """What `fit`, `predict` and `advise` take beside reading or counting a profile."""
    return (Result(*row) for row in measure_answers(repeats))


GROUPS: dict[str, Callable[[int], Iterator[Result]]] = {
    "commands": whole_commands,
    "laws": laws,
    "sweeps": sweeps,
    "cache": cache,
    "start": start,
    "in-process": in_process,
    "counters": other_counters,
    "sections": sections,
    "runs": measured_runs,
    "predictions": predictions,
    "answers": answers,
    "gate": gate,
    "traces": traces,
    "history": history,
    "reports": reports,
}
