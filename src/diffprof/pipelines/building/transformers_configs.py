"""Configurations of transformers' models: as objects of the class that a model takes, from whatever a folder holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from diffprof.pipelines.plans.blueprint import PartPlan


def transformers_config(owner: Any, plan: PartPlan, config: Mapping[str, Any]) -> Any:
    """The configuration as an object of the class that the model takes."""
    values = _without_dtypes(config)
    if plan.only_differences or not values:
        return owner.config_class(**values)
    return owner.config_class.from_dict(_own_part(owner.config_class, values))


def _own_part(config_class: Any, values: dict[str, Any]) -> dict[str, Any]:
    """A text or vision model may come with the configuration of the larger model that it was taken from."""
    key, model_type = config_class.base_config_key, config_class.model_type
    if key and isinstance(values.get(key), dict):
        return cast(dict[str, Any], values[key])
    if values.get("model_type", model_type) != model_type:
        for value in values.values():
            if isinstance(value, dict) and value.get("model_type") == model_type:
                return value
    return values


def _without_dtypes(config: Mapping[str, Any]) -> dict[str, Any]:
    """Also in the configurations of parts: each would be built in the dtype that it was once saved in."""
    return {
        name: _without_dtypes(value) if isinstance(value, Mapping) else value
        for name, value in config.items()
        if name not in ("dtype", "torch_dtype", "auto_map", "trust_remote_code")
    }
