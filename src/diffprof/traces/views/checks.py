"""The checklist in words: each question with its answer, what it rests on, the threshold and what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from diffprof.render import numbers
from diffprof.render.numbers import exact, milliseconds, percent
from diffprof.traces.analysis.checklist import BAD, GOOD, LOOK, NOT_THERE, UNKNOWN, Check
from diffprof.traces.views.names import place, short

Evidence = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """A check in words."""

    verdict: str
    question: str
    evidence: str
    threshold: str
    advice: str


NO_GPU = "no work on a GPU is in the trace"
VERDICTS = {GOOD: "good", LOOK: "look", BAD: "bad", UNKNOWN: "unknown", NOT_THERE: "-"}


def say(check: Check) -> Said:
    """The check in words; the advice only where there is something to do."""
    wording = WORDING[check.name]
    if check.verdict == UNKNOWN:
        why = wording.unknown if check.evidence.get("gpu_work", True) else NO_GPU
        return Said(VERDICTS[UNKNOWN], wording.question, why, "", "")
    if check.verdict == NOT_THERE:
        return Said(VERDICTS[NOT_THERE], wording.question, wording.not_there, "", "")
    advice = "" if check.verdict == GOOD else wording.advice(check.evidence)
    return Said(
        VERDICTS[check.verdict],
        wording.question,
        f"{percent(check.share or 0)} {wording.of} ({wording.evidence(check.evidence)})",
        _threshold(check),
        advice,
    )


def _threshold(check: Check) -> str:
    good, bad = percent(check.limit.good), percent(check.limit.bad)
    if check.limit.more_is_better:
        return f"good from {good}, bad below {bad}"
    return f"good up to {good}, bad above {bad}"


@dataclass(frozen=True)
class Wording:
    question: str
    of: str
    """What the share is a share of."""
    evidence: Callable[[Evidence], str]
    advice: Callable[[Evidence], str]
    unknown: str = NO_GPU
    not_there: str = ""


def _lost(evidence: Evidence) -> str:
    gaps = f"{milliseconds(evidence['lost_ns'])} in {numbers.times(evidence['gaps'], 'gap')}"
    if not evidence.get("what"):
        return gaps
    where = f" in {place(evidence['where'])}" if evidence["where"] else ""
    return f"{gaps}; most by {short(evidence['what'])}{where}, {milliseconds(evidence['worst_ns'])}"


def _compiled(evidence: Evidence) -> str:
    parts = [
        f"{numbers.times(evidence['calls'], 'call')} of compiled code, {exact(evidence['triton_kernels'])} of "
        f"{numbers.times(evidence['kernels'], 'kernel')} written by it",
        f"{numbers.times(evidence['graph_launches'], 'graph launch').replace('launchs', 'launches')}",
    ]
    if evidence["compiling_ns"]:
        parts.append(f"{milliseconds(evidence['compiling_ns'])} of compilation in the trace")
    return ", ".join(parts)


def _compiled_advice(evidence: Evidence) -> str:
    if evidence["compiling_ns"]:
        return "Warm up before tracing: the compilation itself is in this trace."
    if evidence["graph_launches"]:
        return "Look for graph breaks between the launches: TORCH_LOGS=graph_breaks names them."
    return (
        'The host launches compiled kernels one by one: torch.compile(mode="reduce-overhead") replays them as a graph.'
    )


def _attention(evidence: Evidence) -> str:
    whole = f"{milliseconds(evidence['slow_ns'])} of {milliseconds(evidence['attention_ns'])}"
    return f"{whole} without a fused kernel; attention is {percent(evidence['of_gpu'])} of all GPU work"


def _attention_advice(evidence: Evidence) -> str:
    fast = evidence.get("fast") or ""
    if fast.startswith("none"):
        return f"No fused kernel takes {evidence['shapes']} ({fast})."
    could = f" ({fast})" if fast and not fast.startswith("unknown") else ""
    return (
        f'A fused kernel could run{could}: attn_implementation="sdpa" for text encoders, '
        "set_attention_backend() for the denoiser."
    )


def _copies_advice(evidence: Evidence) -> str:
    if evidence["pageable_bytes"]:
        return "Copy from pinned memory with non_blocking=True; keep weights on the GPU if offloading brings them."
    return f"Keep on the GPU what is copied {evidence['direction']} again and again, or copy while it computes."


WORDING = {
    "gpu_busy": Wording(
        "Is the GPU busy?",
        "of the time",
        lambda evidence: f"{milliseconds(evidence['busy_ns'])} of {milliseconds(evidence['total_ns'])}",
        lambda evidence: f"{milliseconds(evidence['idle_ns'])} are idle: see why, the largest cause first.",
    ),
    "host_blocking": Wording(
        "Does the host wait for the GPU?",
        "of the time lost",
        _lost,
        lambda _: (
            "Keep values on the GPU: no .item(), .cpu() or print of a tensor inside the loop; copy to it from pinned "
            "memory with non_blocking=True."
        ),
        unknown="launches were not recorded",
    ),
    "host_keeps_up": Wording(
        "Does the host keep up?",
        "of the time lost",
        _lost,
        lambda _: (
            'Launch less and ahead: torch.compile(mode="reduce-overhead") or CUDA graphs, a larger batch, no Python '
            "work between steps."
        ),
        unknown="launches were not recorded",
    ),
    "launch_latency": Wording(
        "Are launches ahead of the GPU?",
        "of launches found it with nothing to do",
        lambda evidence: (
            f"{exact(evidence['on_empty_queue'])} of {exact(evidence['launched'])}; from launch to start "
            f"{milliseconds(evidence['latency_median_ns'])} (median)"
        ),
        lambda _: "The GPU is faster than the host launches: fuse kernels or replay them as a graph.",
        unknown="launches were not recorded",
    ),
    "scheduler": Wording(
        "Is the scheduler cheap?",
        "of the time the GPU idled in its steps",
        lambda evidence: (
            f"{numbers.times(evidence['calls'], 'step')}, {milliseconds(evidence['host_ns'])} on the host, "
            f"{milliseconds(evidence['idle_ns'])} idle"
        ),
        lambda _: "Keep timesteps and sigmas on the GPU, and the progress bar and callbacks out of the loop.",
        unknown="no step of a scheduler shows; record with_stack=True or annotate it as scheduler_step",
    ),
    "compiled": Wording(
        "Is compiled code effective?",
        "busy while it ran",
        _compiled,
        _compiled_advice,
        not_there="nothing was compiled",
    ),
    "attention": Wording(
        "Is attention on a fast path?",
        "of it on a slow one",
        _attention,
        _attention_advice,
        not_there="no attention was found",
    ),
    "copies": Wording(
        "Are copies hidden?",
        "of the time nothing but copies ran",
        lambda evidence: f"{milliseconds(evidence['exposed_ns'])}, most of them {evidence['direction']}",
        _copies_advice,
        not_there="nothing was copied",
    ),
    "communication": Wording(
        "Is communication hidden?",
        "of the time nothing but communication ran",
        lambda evidence: f"{milliseconds(evidence['exposed_ns'])} of {milliseconds(evidence['communication_ns'])}",
        lambda _: "Overlap it with computation, or send less: fewer and larger calls, a lower precision.",
        not_there="the GPUs exchanged nothing",
    ),
    "memory": Wording(
        "Is memory flat over the steps?",
        "more at the end of the last step",
        lambda evidence: (
            f"from {numbers.gigabytes(evidence['first_bytes'])} to {numbers.gigabytes(evidence['last_bytes'])} over "
            f"{numbers.times(evidence['steps'], 'step')}"
        ),
        lambda _: "Something keeps tensors of earlier steps: lists of latents, callbacks, caches.",
        unknown="needs profile_memory=True and three steps",
    ),
}
