"""Predicted memory as text and tables: the verdict, the stages, the host, and changes that make it fit."""

from __future__ import annotations

from diffprof.advice.views.request_words import request_lines, run_lines
from diffprof.record.fit import Change, Fit, StageMemory
from diffprof.render import numbers
from diffprof.render.blocks import Block
from diffprof.render.columns import Column

STAGE_NAMES = {
    "load": "after loading",
    "encode": "encoding the prompt",
    "denoise": "denoising",
    "decode": "decoding",
}
WHEN = {stage: name if stage == "load" else f"while {name}" for stage, name in STAGE_NAMES.items()}
"""Stages as parts of a sentence."""


def fit_blocks(fit: Fit, verbose: bool = False) -> list[Block]:
    """All blocks; with `verbose`, all assumptions."""
    blocks = [answer_block(fit), stages_block(fit), host_block(fit)]
    if fit.changes:
        blocks.append(changes_block(fit))
    return [*blocks, *([_assumptions(fit)] if verbose else [Block(lines=[_number_of_assumptions(fit)])])]


def answer_block(fit: Fit) -> Block:
    """Whether it fits, how much memory is left, and where the peak is."""
    peak = fit.peak
    where = ".".join(part for part in (peak.component, peak.module) if part)
    lines = [
        *request_lines(fit),
        *run_lines(fit.settings),
        verdict(fit),
        f"peak: {peak_words(fit)}",
        f"where: {STAGE_NAMES[peak.stage]}" + (f", in {where}" if where else ""),
        *last_resort(fit),
    ]
    return Block(f"{fit.model}: memory of one generation", lines)


def peak_words(fit: Fit) -> str:
    """The peak as allocated, as reserved, and as nvidia-smi shows it."""
    peak = fit.peak
    return (
        f"{numbers.gibibytes(peak.allocated_bytes)} allocated, {numbers.gibibytes(peak.reserved_bytes)} reserved, "
        f"{numbers.gibibytes(peak.device_bytes)} as nvidia-smi shows it"
    )


def verdict(fit: Fit) -> str:
    """A sentence about whether it fits."""
    device = fit.accelerator or (f"{numbers.gibibytes(fit.memory_bytes)} of memory" if fit.memory_bytes else "")
    peak = fit.peak
    if fit.fits is None or fit.usable_bytes is None:
        return f"needs {numbers.gibibytes(peak.device_bytes)}"
    usable = numbers.gibibytes(fit.usable_bytes)
    if fit.fits and peak.device_bytes <= fit.usable_bytes:
        spare = numbers.gibibytes(fit.usable_bytes - peak.device_bytes)
        return f"fits on {device}: {spare} of the usable {usable} to spare"
    if fit.fits:
        return f"fits on {device}, but only by releasing cached memory: all of the usable {usable} is used"
    if fit.ram_bytes is not None and fit.host.peak_bytes > fit.ram_bytes:
        missing = numbers.gibibytes(fit.host.peak_bytes - fit.ram_bytes)
        return f"does not fit: the host lacks {missing} of {numbers.gibibytes(fit.host.peak_bytes)}"
    missing = numbers.gibibytes(max(0, peak.device_bytes - fit.usable_bytes))
    return f"does not fit on {device}: {missing} more than the usable {usable}"


def last_resort(fit: Fit) -> list[str]:
    """A sentence about what else would help, if it does not fit and no change is enough."""
    if fit.fits is not False or fit.changes or fit.usable_bytes is None:
        return []
    if fit.ram_bytes is not None and fit.host.peak_bytes > fit.ram_bytes:
        # The device's memory is not what is lacking.
        loaded = (
            f"no change that was tried is enough: loading takes {numbers.gibibytes(fit.host.load_bytes)} of the host"
        )
        return [loaded] if fit.host.load_bytes > fit.ram_bytes else []
    is_tiled = fit.request is not None and "vae_tiling" in fit.request.enable
    # Tiles make the tensors of the decoder smaller.
    fixed = [stage for stage in fit.stages if stage.stage != "decode" or is_tiled]
    most = max(fixed, key=_tensor_bytes, default=None)
    if most is not None and _tensor_bytes(most) > fit.usable_bytes:
        return [
            f"no offload or quantization is enough: the tensors {WHEN[most.stage]} alone take "
            f"{numbers.gibibytes(_tensor_bytes(most))}; choose a smaller size, or fewer images or frames"
        ]
    peak = fit.peak
    if peak.allocated_bytes + peak.device_bytes - peak.reserved_bytes <= fit.usable_bytes:
        return [
            f"the {numbers.gibibytes(peak.allocated_bytes)} that are allocated would fit: "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True avoids most of what is reserved beyond them"
        ]
    return []


def _tensor_bytes(stage: StageMemory) -> int:
    return stage.activation_bytes + stage.kept_bytes


def stages_block(fit: Fit) -> Block:
    """One row for each stage."""
    stages = fit.stages
    columns = [
        Column("stage", [stage.stage for stage in stages], justify="left", style="bold"),
        Column("allocated", [numbers.gibibytes(stage.allocated_bytes) for stage in stages]),
        Column("reserved", [numbers.gibibytes(stage.reserved_bytes) for stage in stages]),
        Column("nvidia-smi", [numbers.gibibytes(stage.device_bytes) for stage in stages]),
        Column("weights", [numbers.gibibytes(sum(stage.weights.values())) for stage in stages], rank=1),
        Column("activations", [numbers.gibibytes(stage.activation_bytes) for stage in stages], rank=2),
        Column("workspace", [numbers.gibibytes(stage.workspace_bytes) for stage in stages], rank=3),
        Column("kept", [numbers.gibibytes(stage.kept_bytes) for stage in stages], rank=5),
        Column("where", [_place_of_peak(stage) for stage in stages], rank=4, justify="left", style="dim"),
    ]
    return Block("Stages", (), columns)


def _place_of_peak(stage: StageMemory) -> str:
    return ".".join(part for part in (stage.component, stage.module) if part)


def host_block(fit: Fit) -> Block:
    """A line about the host's memory."""
    host = fit.host
    pinned = f", of which {numbers.gibibytes(host.pinned_bytes)} pinned" if host.pinned_bytes else ""
    return Block(
        "Host",
        [f"{numbers.gibibytes(host.peak_bytes)} at most{pinned}; {numbers.gibibytes(host.load_bytes)} while loading"],
    )


def changes_block(fit: Fit) -> Block:
    """Changes that make it fit, the fastest first, with their code."""
    changes = fit.changes
    columns = [
        Column("change", [change.name for change in changes], justify="left", style="bold"),
        Column("time", [f"x {change.slowdown:.2f}" for change in changes]),
        Column("allocated", [numbers.gibibytes(change.peak.allocated_bytes) for change in changes], rank=2),
        Column("nvidia-smi", [numbers.gibibytes(change.peak.device_bytes) for change in changes]),
        Column("host", [numbers.gibibytes(change.host.peak_bytes) for change in changes], rank=1),
    ]
    code = [line for change in changes for line in ("", f"# {change.name}", *_code(change))]
    return Block("Changes that fit", (), columns, code=code)


def _code(change: Change) -> list[str]:
    return [*change.code, f"# {change.command}"]


def _assumptions(fit: Fit) -> Block:
    return Block("Assumptions", [f"- {line}" for line in fit.assumptions])


def _number_of_assumptions(fit: Fit) -> str:
    return f"{len(fit.assumptions)} assumptions; --verbose lists them."
