"""Every error of diffprof has an exit code, and keeps what a caller needs to handle it."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof import errors
from diffprof.errors import (
    DiffprofError,
    InterruptedRun,
    OutOfMemoryError,
    OutputError,
    PipelineError,
    RefusedCallError,
    RequestError,
    UnsafeModelError,
    bounded_message,
    error_summary,
    first_line,
)


def test_a_rejected_request_exits_with_2_and_a_failed_one_with_1() -> None:
    assert issubclass(UnsafeModelError, RequestError)
    assert issubclass(RequestError, DiffprofError)
    assert (RequestError("").exit_code, PipelineError("").exit_code) == (2, 1)


def test_every_error_has_an_exit_code_and_a_docstring() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, DiffprofError)]
    assert {error.exit_code for error in classes} == {1, 2}
    assert all(error.__doc__ for error in classes)


def test_a_rejected_call_keeps_the_message_of_the_pipeline() -> None:
    error = RefusedCallError("FluxPipeline", "height must be divisible by 8")
    assert str(error) == "FluxPipeline refused the call: height must be divisible by 8"
    assert (error.pipeline, error.reason, error.exit_code) == ("FluxPipeline", "height must be divisible by 8", 1)


def test_running_out_of_memory_advises_and_keeps_the_message_of_the_allocator() -> None:
    error = OutOfMemoryError("FluxPipeline", "tried to allocate 8 GiB")
    assert str(error) == (
        "FluxPipeline ran out of memory; make it smaller, use a smaller dtype or offload (tried to allocate 8 GiB)"
    )
    assert (error.pipeline, error.reason) == ("FluxPipeline", "tried to allocate 8 GiB")


@pytest.mark.parametrize(
    "error",
    [PipelineError("it failed"), RefusedCallError("FluxPipeline", "no"), OutOfMemoryError("FluxPipeline", "8 GiB")],
)
def test_an_error_with_the_run_is_otherwise_the_same(error: PipelineError) -> None:
    run: Any = object()
    same = error.with_run(run)
    assert error.run is None
    assert same.run is run
    assert type(same) is type(error)
    assert str(same) == str(error)


def test_an_output_error_keeps_what_could_not_be_written() -> None:
    batch: Any = object()
    error = OutputError("the disk is full", batch=batch)
    assert str(error) == "the disk is full"
    assert (error.image, error.batch) == (None, batch)


def test_an_interrupted_run_is_a_keyboard_interrupt_with_the_run() -> None:
    run: Any = object()
    error = InterruptedRun(run)
    assert isinstance(error, KeyboardInterrupt)
    assert not isinstance(error, Exception), "`except Exception` must not hide Ctrl-C"
    assert error.run is run


def test_the_first_line_leaves_out_the_values_of_tensors_and_is_short() -> None:
    assert first_line(RuntimeError("expected one of: tensor([1, 2])\nat line 3")) == "expected one of"
    assert len(first_line(RuntimeError("x" * 1000))) == 300
    assert first_line(RuntimeError()) == ""


def test_the_summary_of_an_error_starts_with_its_type() -> None:
    assert error_summary(ValueError("no such size\nat line 3")) == "ValueError: no such size"
    assert error_summary(ValueError()) == "ValueError"


def test_a_long_message_loses_its_middle_and_says_how_much() -> None:
    assert bounded_message("a\n b") == "a b"
    assert bounded_message("x" * 300) == "x" * 300
    shown = bounded_message(f"config.json holds {'y' * 20_000}; correct the file")
    assert len(shown) <= 300
    assert shown.startswith("config.json holds yyy")
    assert "(19,776 characters left out)" in shown
    assert shown.endswith("; correct the file")
