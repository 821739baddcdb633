"""Errors of a pipeline's own code become errors of ours, by class and not by wording."""

from __future__ import annotations

import pytest
import torch

from diffprof.errors import OutOfMemoryError, PipelineError, RefusedCallError
from diffprof.pipelines.failures import is_out_of_memory, packages_behind, pipeline_failure


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
        assert packages_behind(failure.value) == expected


def test_a_module_that_is_not_found_names_its_package() -> None:
    assert packages_behind(ModuleNotFoundError("no", name="torchsde._brownian")) == ["torchsde"]
    assert packages_behind(ValueError("no")) == []
