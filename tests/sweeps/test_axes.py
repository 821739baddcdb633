"""The words of a sweep become the values that are combined."""

from __future__ import annotations

import pytest

from diffprof.errors import RequestError
from diffprof.record.request import Request
from diffprof.sweeps.axes import create_sweep, parse_sweep
from diffprof.sweeps.records import Sweep, SweepMeasurement


def parse(*words: str) -> Sweep:
    return parse_sweep(words, Request(""))


def test_the_example_of_the_page_has_every_combination() -> None:
    sweep = parse("models=flux.1-dev,sdxl", "heights=512..2048:64", "steps=10,20,30", "gpus=l4,h100-sxm")
    assert sweep.arguments == {"height": tuple(range(512, 2049, 64)), "num_inference_steps": (10, 20, 30)}
    assert sweep.requests == 2 * 25 * 3
    assert sweep.points == 2 * 25 * 3 * 2
    tasks = list(sweep.tasks())
    assert len(tasks) == sweep.requests
    assert tasks[0].request.arguments == {"height": 512, "num_inference_steps": 10}
    assert tasks[0].gpus == ("l4", "h100-sxm")


def test_one_or_several_can_be_written() -> None:
    assert parse("model=sdxl", "height=512", "gpu=l4") == parse("models=sdxl", "heights=512", "gpus=l4")


def test_a_range_ends_where_the_step_meets_or_passes_its_end() -> None:
    assert parse("models=sdxl", "heights=512..1000:200").arguments["height"] == (512, 712, 912)
    assert parse("models=sdxl", "steps=1..3").arguments["num_inference_steps"] == (1, 2, 3)
    assert parse("models=sdxl", "guidances=1..2:0.25").arguments["guidance_scale"] == (1.0, 1.25, 1.5, 1.75, 2.0)


def test_sizes_are_squares_or_width_by_height() -> None:
    assert parse("models=sdxl", "sizes=512..1024:512,832x1216").sizes == ((512, 512), (1024, 1024), (1216, 832))


def test_a_value_counts_once_and_a_dtype_has_its_full_name() -> None:
    sweep = parse("models=sdxl,sdxl", "steps=10,10..11", "dtypes=fp16,float16,bf16")
    assert (sweep.models, sweep.dtypes) == (("sdxl",), ("float16", "bfloat16"))
    assert sweep.arguments["num_inference_steps"] == (10, 11)


def test_all_accelerators_can_be_meant() -> None:
    assert {"l4", "h100-sxm"} < set(parse("models=sdxl", "gpus=all").gpus)


def test_python_takes_numbers_lists_and_ranges() -> None:
    sweep = create_sweep(Request(""), models="sdxl", heights=[512, "768..1024:256"], steps=range(10, 30, 10))
    assert sweep.arguments == {"height": (512, 768, 1024), "num_inference_steps": (10, 20)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sdxl"], "A sweep takes NAME=VALUES, such as models=sdxl or heights=512..2048:64, not 'sdxl'."),
        (["steps=3"], "A sweep needs models, such as models=flux.1-dev,sdxl."),
        (["models=sdxl", "colours=red"], "A sweep cannot vary colours; it varies models, "),
        (["models=sdxl", "heights=8,abc"], "height must be a whole number from 1 to 16,384, not 'abc'."),
        (["models=sdxl", "heights=512..64"], "height goes from 512 to 64: the smaller number comes first."),
        (["models=sdxl", "heights=1..9:0"], "The step of height must be a whole number above 0, not '0'."),
        (["models=sdxl", "heights=1..9:1.5"], "The step of height must be a whole number above 0, not '1.5'."),
        (["models=sdxl", "guidances=0..9:0.00001"], "guidance has 900,001 values, more than the limit of 100,000"),
        (["models=sdxl", "steps=1", "steps=2"], "steps is given twice"),
        (["models=sdxl", "sizes=512", "widths=512"], "sizes give height and width; leave heights and widths out."),
        (["models=sdxl", "dtypes=int3"], "Unknown dtype 'int3'; use float32, float16 or bfloat16."),
        (["models=sdxl", "gpus=abacus"], "Unknown accelerator 'abacus'"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(words: list[str], message: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse(*words)
    assert str(refused.value).startswith(message)


def test_a_measured_sweep_has_no_other_accelerators() -> None:
    with pytest.raises(RequestError, match="leave gpus out, or --measure"):
        parse_sweep(["models=sdxl", "gpus=l4"], Request(""), SweepMeasurement())
