"""`generate_images_sequential`: one folder, one record, and a model that fails does not stop the others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from diffprof.errors import OutputError, PipelineError, RequestError
from diffprof.generation import batch as record
from diffprof.inference import generate_images_sequential
from diffprof.model_manager import ModelManager
from tests.generation.support import batch_config, files_in, full_disk, same


def test_a_batch_has_one_folder_and_one_file_as_in_the_guide(
    model: Path, other: Path, out: Path, manager: ModelManager
) -> None:
    results = generate_images_sequential(
        [model, str(other)], "A futuristic cityscape", num_inference_steps=2, seed=11, output_dir=out, manager=manager
    )
    assert [result.model_name for result in results] == ["small-sd", "small-sd3"]
    assert results.folder.parent == out
    values = batch_config(results.folder)
    assert values["prompt"] == "A futuristic cityscape"
    assert values["timestamp"].replace("-", "").replace(":", "").replace("T", "_") == results.folder.name
    for entry, result in zip(values["models"], results, strict=True):
        assert {"model_id", "model_name", "image_path", "seed", "compute_profile"} == set(entry)
        assert entry["image_path"] == str(result.filepath)
        assert entry["seed"] == 11
        assert result.profiling_data is not None
        assert entry["compute_profile"]["total_macs"] == result.profiling_data["total_macs"]
        assert "profile" not in entry["compute_profile"]
        assert same(Image.open(entry["image_path"]), result.image)


def test_a_model_that_fails_does_not_stop_the_others(
    model: Path, other: Path, out: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import SD3Transformer2DModel

    def fail(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("a bad day")

    monkeypatch.setattr(SD3Transformer2DModel, "forward", fail)
    results = generate_images_sequential(
        [model, other, "no-such-model", model], "a cat", num_inference_steps=1, output_dir=out, manager=manager
    )
    assert [result.error is None for result in results] == [True, False, False, True]
    assert isinstance(results[1].error, PipelineError)
    assert [result.model_id for result in results.failures] == [str(other), "no-such-model"]
    assert results[0].filepath != results[3].filepath
    entries = batch_config(results.folder)["models"]
    assert "RuntimeError: a bad day" in entries[1]["error"]
    assert entries[2]["error"].startswith("Unknown model 'no-such-model'")
    assert [entry["image_path"] is None for entry in entries] == [False, True, True, False]


def test_an_error_that_is_kept_does_not_keep_the_model(model: Path, out: Path, manager: ModelManager) -> None:
    results = generate_images_sequential([model], "a cat", negative=3, output_dir=out, manager=manager)
    error = results[0].error
    assert isinstance(error, RequestError)
    assert (error.__traceback__, error.__cause__, error.__context__) == (None, None, None)


def test_models_are_unloaded_one_after_the_other_unless_they_shall_stay(model: Path, other: Path, out: Path) -> None:
    own = ModelManager(device="cpu")
    ask: dict[str, Any] = {"num_inference_steps": 1, "output_dir": out, "manager": own, "enable_profiling": False}
    held: list[int] = []
    generate_images_sequential(
        [model, other], "a cat", progress_callback=lambda *told: held.append(len(own.list_models())), **ask
    )
    assert max(held) == 1
    assert own.list_models() == ()
    generate_images_sequential([model, other], "a cat", unload_after_inference=False, **ask)
    assert len(own.list_models()) == 2


def test_the_progress_of_a_batch_says_which_model_and_how_long_it_will_take(
    model: Path, other: Path, out: Path, manager: ModelManager
) -> None:
    told: list[str] = []
    generate_images_sequential(
        [model, other], "a cat", num_inference_steps=3, output_dir=out, manager=manager,
        progress_callback=lambda message, done, total: told.append(message),
    )  # fmt: skip
    assert any(re.match(r"1 of 2: small-sd, step 2 of 3 \(.+s\), about .+ left", message) for message in told)
    assert any(message.startswith("2 of 2: small-sd3, step 2 of 3") for message in told)
    third = [message for message in told if message.startswith("1 of 2: small-sd, step 3 of 3")]
    assert any(" left" in message for message in third), "the other is still to come"


def test_a_batch_that_is_interrupted_leaves_a_whole_file(
    model: Path, other: Path, out: Path, manager: ModelManager
) -> None:
    def stop(message: str, done: int | None, total: int | None) -> None:
        if message.startswith("2 of 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_images_sequential(
            [model, other], "a cat", num_inference_steps=1, output_dir=out, manager=manager, progress_callback=stop
        )
    (folder,) = out.iterdir()
    values = batch_config(folder)
    assert len(values["model_ids"]) == 2
    assert [entry["model_name"] for entry in values["models"]] == ["small-sd"]


def test_batches_of_the_same_second_have_separate_folders(model: Path, out: Path, manager: ModelManager) -> None:
    ask: dict[str, Any] = {"num_inference_steps": 1, "output_dir": out, "manager": manager, "enable_profiling": False}
    folders = {generate_images_sequential([model], "a cat", **ask).folder for _ in range(3)}
    assert len(folders) == 3


def test_a_full_disk_does_not_stop_a_batch(
    model: Path, out: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_disk(monkeypatch)
    results = generate_images_sequential(
        [model, model], "a cat", num_inference_steps=1, output_dir=out, manager=manager
    )
    assert [type(result.error) for result in results] == [OutputError, OutputError]
    assert files_in(results.folder) == ["generation_config.json"]
    batch_config(results.folder)


def refusing_records(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """No record of a batch can be written any more, once so many were."""
    real, written = record.replace_file, list[Path]()

    def refuse(path: Path, content: bytes) -> Path:
        if len(written) == after:
            raise OutputError(f"Cannot write {path}: No space left on device.")
        written.append(path)
        return real(path, content)

    monkeypatch.setattr(record, "replace_file", refuse)


def test_a_batch_that_cannot_write_its_record_leaves_no_folder(
    model: Path, out: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing_records(monkeypatch, after=0)
    with pytest.raises(OutputError, match="No space left on device"):
        generate_images_sequential([model], "a cat", num_inference_steps=1, output_dir=out, manager=manager)
    assert files_in(out) == []


def test_a_record_that_cannot_be_written_to_its_end_does_not_cost_the_results(
    model: Path, out: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing_records(monkeypatch, after=2)
    with pytest.raises(OutputError, match="No space left on device") as failed:
        generate_images_sequential([model, model], "a cat", num_inference_steps=1, output_dir=out, manager=manager)
    batch = failed.value.batch
    assert [result.filepath.is_file() for result in batch] == [True, True]
    assert len(batch_config(batch.folder)["models"]) == 1, "the record of before is whole"


def test_no_models_are_no_batch(out: Path) -> None:
    for nothing in ([], "shapes"):
        with pytest.raises(RequestError, match="no model was given"):
            generate_images_sequential(nothing, "a cat", output_dir=out)
    assert not out.exists()


def test_a_batch_with_a_wrong_request_makes_no_folder(model: Path, out: Path) -> None:
    for wrong in ({"prompt": " "}, {"prompt": "a", "seed": -3}, {"prompt": "a", "scheduler": "zzz"}):
        with pytest.raises(RequestError):
            generate_images_sequential([model], output_dir=out, **wrong)  # type: ignore[arg-type]
    assert not out.exists()
