"""Models that are published quantized: their configuration gives the packing, so bytes are known without weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from diffprof.pipelines.packing.quantization import plan_quantization

KEY = "quantization_config"
SKIPPED_MODULE_KEYS = ("llm_int8_skip_modules", "modules_to_not_convert")

TORCHAO_KINDS = {
    "int4_weight_only": "int4", "int4wo": "int4", "int4weightonlyconfig": "int4",
    "int8_weight_only": "int8", "int8wo": "int8", "int8weightonlyconfig": "int8",
    "int8_dynamic_activation_int8_weight": "int8-dynamic", "int8dq": "int8-dynamic",
    "int8dynamicactivationint8weightconfig": "int8-dynamic",
    "float8_weight_only": "fp8", "float8wo": "fp8", "float8wo_e4m3": "fp8", "float8weightonlyconfig": "fp8",
    "float8_dynamic_activation_float8_weight": "fp8-dynamic", "float8dq": "fp8-dynamic",
    "float8dynamicactivationfloat8weightconfig": "fp8-dynamic",
}  # fmt: skip
"""Names of kinds in its configurations: by function, by short name, and by class."""

QUANTO_KINDS = {"int8": "int8", "float8": "fp8", "int4": "int4", "int2": "int2"}


def published_packing(config: Mapping[str, Any]) -> str | None:
    """Return the quantization in a model's configuration, as in a request; None if it is not supported."""
    settings = config.get(KEY)
    if not isinstance(settings, Mapping):
        return None
    method = str(settings.get("quant_method") or "").lower().removeprefix("quantizationmethod.")
    if method.startswith("bitsandbytes") or (not method and settings.get("load_in_4bit") is not None):
        return _bitsandbytes(settings)
    if method == "torchao":
        kind = TORCHAO_KINDS.get(_torchao_name(settings.get("quant_type")))
        return f"torchao:{kind}" if kind else None
    if method == "quanto":
        kind = QUANTO_KINDS.get(str(settings.get("weights_dtype") or settings.get("weights")))
        return f"quanto:{kind}" if kind else None
    return None


def _bitsandbytes(settings: Mapping[str, Any]) -> str | None:
    if settings.get("load_in_8bit") is True:
        return "bitsandbytes:int8"
    kind = settings.get("bnb_4bit_quant_type") or "fp4"
    if settings.get("load_in_4bit") is not True or kind not in ("nf4", "fp4"):
        return None
    is_double = settings.get("bnb_4bit_use_double_quant") is True
    return "bitsandbytes:nf4-double" if is_double and kind == "nf4" else f"bitsandbytes:{kind}"


def _torchao_name(value: Any) -> str:
    """Return the name: a string, or the class in ``{"default": {"_type": "Int8WeightOnlyConfig"}}``."""
    if isinstance(value, Mapping):
        value = value.get("default", value)
    if isinstance(value, Mapping):
        value = value.get("_type")
    return str(value).lower()


def pack_as_published(slot: str, model: torch.nn.Module, config: Mapping[str, Any]) -> None:
    """Mark the layers of a model on virtual weights as packed in the published way."""
    kind = published_packing(config)
    if kind is None:
        return
    left = [name for key in SKIPPED_MODULE_KEYS for name in config[KEY].get(key) or () if isinstance(name, str)]
    plan_quantization(slot, model, kind, left)


def packing_sentence(slot: str, config: Mapping[str, Any]) -> str | None:
    """Return the assumption about a model that is published quantized; None for all others."""
    if KEY not in config:
        return None
    kind = published_packing(config)
    if kind is not None:
        return f"{slot} is published quantized: its linear layers are packed as {kind} packs them"
    return (
        f"{slot} is published quantized in a way that diffprof does not know; without its weight files it is counted "
        "as the layers the packed weights stand for"
    )
