"""Configurations of transformers' models, as objects of the class that a model takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from diffprof.pipelines.plans.blueprint import PartPlan


def transformers_config(owner: Any, plan: PartPlan, config: Mapping[str, Any]) -> Any:
    """Convert the configuration to an object of the class that the model takes."""
    values = _without_dtypes(config)
    if plan.only_differences or not values:
        return owner.config_class(**values)
    return owner.config_class.from_dict(_own_part(owner.config_class, values))


def _own_part(config_class: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the part for a text or vision model, which may have the configuration of the larger model it is from."""
    key, model_type = config_class.base_config_key, config_class.model_type
    if key and isinstance(values.get(key), dict):
        return cast(dict[str, Any], values[key])
    if values.get("model_type", model_type) != model_type:
        for value in values.values():
            if isinstance(value, dict) and value.get("model_type") == model_type:
                return value
    return values


def _without_dtypes(config: Mapping[str, Any]) -> dict[str, Any]:
    """Remove dtypes, also in nested configurations: parts would be built in the dtype that they were once saved in."""
    return {
        name: _without_dtypes(value) if isinstance(value, Mapping) else value
        for name, value in config.items()
        if name not in ("dtype", "torch_dtype", "auto_map", "trust_remote_code")
    }
