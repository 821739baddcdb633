"""Each kind of hostile model folder is refused in one sentence that names the model's fault."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from diffprof.counting.profile import profile_call
from diffprof.errors import DiffprofError
from tests.pipelines.folders import edit, saved

Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("stable-diffusion", tmp_path_factory.mktemp("sample") / "model")


@pytest.fixture
def folder(sample: Path, tmp_path: Path) -> Path:
    target = tmp_path / "model"
    for file in sample.rglob("*"):
        if file.is_file():
            place = target / file.relative_to(sample)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read_bytes())
    return target


def setting(file: str, key: str, value: Any) -> Change:
    return lambda folder: edit(folder / file, lambda values: values.update({key: value}))


def with_class(slot: str, name: str, library: str = "transformers") -> Change:
    return setting("model_index.json", slot, [library, name])


def deeply_nested(folder: Path) -> None:
    (folder / "unet" / "config.json").write_text('{"a":' * 3000 + "1" + "}" * 3000)


def fixed_length(folder: Path) -> None:
    """The Rust library behind the tokenizer fills up texts to any length."""
    file = folder / "tokenizer" / "tokenizer.json"
    padding = {
        "strategy": {"Fixed": 4_000_000_000}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
        "pad_type_id": 0, "pad_token": "x",
    }  # fmt: skip
    edit(file, lambda values: values.update(padding=padding))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            setting("scheduler/scheduler_config.json", "num_train_timesteps", 10**9),
            "num_train_timesteps is 1,000,000,000",
        ),
        (setting("scheduler/scheduler_config.json", "num_train_timesteps", 0), "scheduler"),
        (setting("scheduler/scheduler_config.json", "trained_betas", [0.1]), "StableDiffusionPipeline"),
        (setting("tokenizer/tokenizer_config.json", "model_max_length", 32_000_000), "model_max_length is 32,000,000"),
        (fixed_length, "texts of 4,000,000,000 tokens"),
        (setting("unet/config.json", "in_channels", 2**70), "in_channels is a larger number"),
        (setting("unet/config.json", "in_channels", -4), "UNet2DConditionModel cannot be built"),
        (setting("unet/config.json", "block_out_channels", [2**40 - 1] * 2), "block_out_channels is"),
        (deeply_nested, "config.json"),
        (with_class("text_encoder", ""), "no class"),
        (with_class("text_encoder", "a" * 5000), "with 5,000 characters"),
        (with_class("unet", "UNet2DConditionModel", "a" * 5000), "with 5,000 characters"),
        (setting("model_index.json", "a" * 5000, ["diffusers", "UNet2DModel"]), "with 5,000 characters"),
        (setting("unet/config.json", "act_fn", "\ud800"), "lone surrogate"),
        (with_class("scheduler", "RePaintScheduler", "diffusers"), "StableDiffusionPipeline"),
        (with_class("scheduler", "DEISMultistepScheduler", "diffusers"), ""),
    ],
)
def test_a_hostile_folder_is_the_models_fault(change: Change, words: str, folder: Path) -> None:
    change(folder)
    try:
        profile_call(str(folder), {"num_inference_steps": 2})
    except DiffprofError as error:
        assert words in str(error)
    else:
        assert not words, "it was counted"
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_a_regular_expression_of_a_folder_is_not_run_by_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any text of a folder may be a pattern that takes for ever; none may reach `re`."""
    import re

    evil = "(a+)+$ evil"
    compiled: list[object] = []
    original = re._compiler.compile if hasattr(re, "_compiler") else None  # type: ignore[attr-defined]
    if original is None:
        pytest.skip("Python before 3.11 has its compiler elsewhere")

    def compile_pattern(pattern: Any, flags: int = 0) -> Any:
        compiled.append(pattern)
        return original(pattern, flags)

    monkeypatch.setattr(re._compiler, "compile", compile_pattern)  # type: ignore[attr-defined]
    for name in ("tokenizer_class", "bos_token", "eos_token", "pat", "pattern", "add_prefix_space"):
        setting("tokenizer/tokenizer_config.json", name, evil)(folder)
    for name in ("modules_to_not_convert", "_keep_in_fp32_modules", "_no_split_modules", "quantization_config"):
        setting("unet/config.json", name, [evil])(folder)
        setting("text_encoder/config.json", name, [evil])(folder)
    with contextlib.suppress(DiffprofError):
        profile_call(str(folder), {"num_inference_steps": 1})
    assert not [pattern for pattern in compiled if isinstance(pattern, str) and pattern == evil]


def test_a_template_without_an_end_is_ended_by_the_limit() -> None:
    """Templates are run in jinja's sandbox, which bounds what they reach and not how long they take."""
    from diffprof.counting.bounded_work import within_limits
    from diffprof.errors import WorkLimitError
    from diffprof.settings.work_limits import WorkLimits

    template = json.loads('"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"')
    from transformers.utils.chat_template_utils import render_jinja_template

    with pytest.raises(WorkLimitError), within_limits("my-model", WorkLimits(seconds=0.2)):
        render_jinja_template([[{"role": "user", "content": "a"}]], chat_template=template)
