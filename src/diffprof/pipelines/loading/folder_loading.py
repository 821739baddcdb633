"""Load one model from its folder with its library's own loader, and refuse files that lack weights."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.building.transformers_configs import transformers_config
from diffprof.pipelines.loading.weight_files import WeightFiles, format_names
from diffprof.pipelines.plans.blueprint import PartPlan

LONGEST_REASON = 300


def load_model(
    owner: Any, plan: PartPlan, config: Mapping[str, Any], dtype: torch.dtype, place: Path, files: WeightFiles
) -> torch.nn.Module:
    """Load the model with all its weights from these files; an error names the file."""
    if (place / "adapter_config.json").exists():
        raise UnsafeModelError(
            f"{place / 'adapter_config.json'} asks for another model to load the adapter onto; "
            "merge the adapter into the model and save that"
        )
    file = files.files[0]
    try:
        with _without_bars():
            model, report = _with_library(owner, plan, config, dtype, place, files)
    except Exception as error:
        # The first sentence: those after it explain how to continue without the weights.
        reason = re.split(r"(?<=[.!])\s", " ".join(str(error).split()))[0][:LONGEST_REASON] or type(error).__name__
        raise RequestError(
            f"{file} cannot be loaded as the {plan.class_name} of {place}/config.json: {reason}"
        ) from error
    wrong = sorted({_name(key) for key in (*report["missing_keys"], *report["mismatched_keys"])})
    wrong += [name for name, weight in model.state_dict().items() if weight.is_meta and name not in wrong]
    if wrong:
        raise RequestError(
            f"{file} does not fit {place}/config.json: {plan.class_name} needs {format_names(wrong)}, "
            "which it does not hold; fetch both again"
        )
    return model.eval()


def _with_library(
    owner: Any, plan: PartPlan, config: Mapping[str, Any], dtype: torch.dtype, place: Path, files: WeightFiles
) -> tuple[torch.nn.Module, Mapping[str, Any]]:
    options: dict[str, Any] = {
        "use_safetensors": True,
        "local_files_only": True,
        "output_loading_info": True,
        "variant": files.variant,
    }
    if getattr(owner, "config_class", None) is None:
        return owner.from_pretrained(str(place), torch_dtype=dtype, **options)
    # A new configuration, because the attention setting of the file could name code of the hub.
    quantized = {name: plan.config[name] for name in ("quantization_config",) if name in plan.config}
    own = transformers_config(owner, plan, {**config, **quantized})
    return owner.from_pretrained(str(place), config=own, dtype=dtype, **options)


def _name(key: Any) -> str:
    """Return the name of a weight; a weight of the wrong shape comes with both shapes."""
    return key if isinstance(key, str) else str(key[0])


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    """Disable the libraries' own progress bars for every model."""
    import diffusers.utils.logging
    import transformers.utils.logging

    shown = [one for one in (diffusers.utils.logging, transformers.utils.logging) if one.is_progress_bar_enabled()]
    for library in shown:
        library.disable_progress_bar()
    try:
        yield
    finally:
        for library in shown:
            library.enable_progress_bar()
