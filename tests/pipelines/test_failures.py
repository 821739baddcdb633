"""Errors of a pipeline's own code become errors of ours, by class and not by wording."""

from __future__ import annotations

import pytest
import torch

from diffprof.errors import OutOfMemoryError, PipelineError, RefusedCallError
from diffprof.pipelines.failures import (
    CONFIG_VALUE_ERRORS,
    RustPanic,
    is_out_of_memory,
    is_own_mistake,
    missing_optional_packages,
    panics_as_errors,
    pipeline_failure,
)


class SomePipeline:
    pass


def test_a_value_error_is_a_rejected_call_with_the_reason_of_the_pipeline() -> None:
    failure = pipeline_failure(SomePipeline(), ValueError("`height` must be divisible by 8.\nSee the docs."))
    assert isinstance(failure, RefusedCallError)
    assert (failure.pipeline, failure.reason) == ("SomePipeline", "`height` must be divisible by 8.")
    assert str(failure) == "SomePipeline refused the call: `height` must be divisible by 8."


@pytest.mark.parametrize(
    "error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory: 9")]
)
def test_running_out_of_memory_is_distinguished_from_other_failures(error: Exception) -> None:
    failure = pipeline_failure(SomePipeline(), error)
    assert is_out_of_memory(error)
    assert isinstance(failure, OutOfMemoryError)
    assert failure.reason == (str(error) or "MemoryError")


def test_any_other_error_is_a_failure_with_its_class_and_its_context() -> None:
    failure = pipeline_failure(SomePipeline(), KeyError("mask"), "while it was measured")
    assert type(failure) is PipelineError
    assert str(failure) == "SomePipeline failed while it was measured: KeyError: 'mask'"
    assert str(pipeline_failure(SomePipeline(), ValueError())) == "SomePipeline failed: ValueError"


def test_a_name_that_is_missing_without_a_package_names_the_package() -> None:
    """`OmniGenMultiModalProcessor` is imported below ``if is_torchvision_available():``."""
    from diffusers.pipelines.omnigen import pipeline_omnigen

    code = compile("raise NameError('gone', name='OmniGenMultiModalProcessor')", "omnigen", "exec")
    for is_there, expected in ((False, ["torchvision"]), (True, [])):
        names = {**vars(pipeline_omnigen), "is_torchvision_available": lambda is_there=is_there: is_there}
        with pytest.raises(NameError) as failure:
            exec(code, names)
        assert missing_optional_packages(failure.value) == expected


def test_a_module_that_is_not_found_names_its_package() -> None:
    assert missing_optional_packages(ModuleNotFoundError("no", name="torchsde._brownian")) == ["torchsde"]
    assert missing_optional_packages(ValueError("no")) == []


@pytest.mark.parametrize(
    ("module", "statement", "is_ours"),
    [
        ("diffprof.pipelines.building.build", "None.shape", True),
        ("diffprof.pipelines.building.build", "{}['key']", True),
        (
            "diffprof.pipelines.building.build",
            "range(-1)[0]",
            False,
        ),  # torch refuses values of a configuration like this
        ("diffusers.models.unets", "None.shape", False),
        ("diffprofessional", "None.shape", False),
    ],
)
def test_an_error_is_ours_where_a_line_of_ours_raised_it(module: str, statement: str, is_ours: bool) -> None:
    names = {"__name__": module}
    exec(f"def fail():\n    {statement}", names)
    with pytest.raises((AttributeError, LookupError)) as failure:
        names["fail"]()  # type: ignore[operator]
    assert is_own_mistake(failure.value, CONFIG_VALUE_ERRORS) is is_ours


def test_a_panic_of_a_library_is_not_our_mistake() -> None:
    class PanicException(BaseException):
        """As Rust's Python bindings raise it."""

    with pytest.raises(RustPanic, match="retry-limit") as failure, panics_as_errors():
        raise PanicException("Regex search error: retry-limit-in-match over")
    assert not is_own_mistake(failure.value)
