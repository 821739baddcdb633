"""Load a model from a single weight file with diffusers' own loader, and refuse a file that lacks weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from diffprof.errors import RequestError, first_line
from diffprof.pipelines.loading.weight_files import format_names
from diffprof.pipelines.plans.blueprint import PartPlan


def load_from_file(owner: Any, plan: PartPlan, dtype: torch.dtype, file: Path, folder: Path) -> torch.nn.Module:
    """Load the model of a slot with weights from the file, and configuration from the folder in diffusers layout."""
    try:
        model = _with_diffusers(owner, plan, dtype, file, folder)
    except Exception as error:
        raise RequestError(
            f"diffusers cannot load the {plan.class_name} of {plan.slot} from {file}: {first_line(error)}"
        ) from error
    missing = [name for name, weight in model.state_dict().items() if weight.is_meta]
    if missing:
        raise RequestError(
            f"{file} does not fit {folder / plan.slot}: {plan.class_name} needs {format_names(missing)}, "
            "which it does not hold"
        )
    return model.eval()


def _with_diffusers(owner: Any, plan: PartPlan, dtype: torch.dtype, file: Path, folder: Path) -> torch.nn.Module:
    from diffusers import FromOriginalModelMixin, GGUFQuantizationConfig, pipelines
    from diffusers.loaders.single_file import load_single_file_sub_model
    from diffusers.loaders.single_file_utils import load_single_file_checkpoint

    if file.suffix.lower() == ".gguf":
        packing = GGUFQuantizationConfig(compute_dtype=dtype)
        return owner.from_single_file(
            str(file), config=str(folder), subfolder=plan.slot, torch_dtype=dtype, local_files_only=True,
            quantization_config=packing,
        )  # fmt: skip
    weights = load_single_file_checkpoint(str(file), local_files_only=True)
    if not issubclass(owner, FromOriginalModelMixin) and hasattr(owner, "from_config"):
        # Diffusers has no loader for it; names in its own layout need none.
        with torch.device("meta"):
            model = owner.from_config(dict(plan.config))
        model.load_state_dict({name: weight.to(dtype) for name, weight in weights.items()}, assign=True)
        return model
    return load_single_file_sub_model(
        owner.__module__.partition(".")[0], owner.__name__, plan.slot, weights, pipelines, False, str(folder),
        local_files_only=True, torch_dtype=dtype,
    )  # fmt: skip
