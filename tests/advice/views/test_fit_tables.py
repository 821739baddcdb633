"""Predicted memory as sentences and tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.advice.views.fit_tables import (
    answer_block,
    changes_block,
    fit_blocks,
    host_block,
    last_resort,
    stages_block,
    verdict,
)
from diffprof.record.fit import Fit
from tests.advice.views.answers import FIT, GIB


@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        (FIT, "does not fit on t4: 2.00 GiB more than the usable 8.00 GiB"),
        (replace(FIT, fits=True, usable_bytes=12 * GIB), "fits on t4: 2.00 GiB of the usable 12.00 GiB to spare"),
        (
            replace(FIT, fits=True),
            "fits on t4, but only by releasing cached memory: all of the usable 8.00 GiB is used",
        ),
        (replace(FIT, fits=None), "needs 10.00 GiB"),
        (replace(FIT, ram_bytes=5 * GIB), "does not fit: the host lacks 1.00 GiB of 6.00 GiB"),
        (
            replace(FIT, accelerator=None),
            "does not fit on 9.00 GiB of memory: 2.00 GiB more than the usable 8.00 GiB",
        ),
    ],
)
def test_the_verdict_says_by_how_much(fit: Fit, sentence: str) -> None:
    assert verdict(fit) == sentence


def test_the_answer_says_where_the_peak_is() -> None:
    _, peak, where = answer_block(FIT).lines
    assert peak == "peak: 8.00 GiB allocated, 9.00 GiB reserved, 10.00 GiB as nvidia-smi shows it"
    assert where == "where: decoding, in vae.decoder.conv"


def test_where_tensors_alone_are_too_large_a_smaller_request_is_named() -> None:
    load, decode = FIT.stages
    large = replace(decode, stage="denoise", activation_bytes=7 * GIB, kept_bytes=2 * GIB)
    fit = replace(FIT, changes=(), stages=(load, large))
    assert last_resort(fit) == [
        "no offload or quantization is enough: the tensors while denoising alone take 9.00 GiB; "
        "choose a smaller size, or fewer images or frames"
    ]
    assert answer_block(fit).lines[-1] == last_resort(fit)[0]
    decoding = replace(large, stage="decode")
    assert not last_resort(replace(fit, stages=(load, decoding)))  # tiles make it smaller
    for other in (FIT, replace(FIT, changes=()), replace(fit, fits=True)):
        assert not last_resort(other)


def test_where_only_the_cache_of_the_allocator_is_too_large_its_setting_is_named() -> None:
    (sentence,) = last_resort(replace(FIT, changes=(), usable_bytes=9 * GIB + GIB // 2))
    assert sentence.startswith(
        "the 8.00 GiB that are allocated would fit: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    )


def test_where_the_host_lacks_memory_nothing_is_said_of_the_device() -> None:
    lacking = replace(FIT, changes=(), usable_bytes=9 * GIB + GIB // 2, ram_bytes=GIB, fits=False)
    (sentence,) = last_resort(lacking)
    assert sentence == "no change that was tried is enough: loading takes 6.00 GiB of the host"
    pinned = replace(lacking, ram_bytes=4 * GIB, host=replace(FIT.host, load_bytes=3 * GIB))
    assert last_resort(pinned) == []


def test_each_stage_has_its_parts() -> None:
    columns = {column.heading: list(column.cells) for column in stages_block(FIT).columns}
    assert columns["stage"] == ["load", "decode"]
    assert columns["weights"] == ["5.00 GiB", "5.00 GiB"]
    assert columns["where"] == ["", "vae.decoder.conv"]


def test_the_host_says_what_of_it_is_pinned() -> None:
    assert host_block(FIT).lines == ["6.00 GiB at most, of which 2.00 GiB pinned; 6.00 GiB while loading"]


def test_a_change_has_its_slowdown_and_its_code() -> None:
    block = changes_block(FIT)
    assert [list(column.cells) for column in block.columns][:2] == [["offload model"], ["x 1.50"]]
    assert list(block.code)[-2:] == ["pipe.enable_model_cpu_offload()", "# diffprof fit sdxl --offload model"]
    assert len(fit_blocks(FIT)) == len(fit_blocks(replace(FIT, changes=()))) + 1
