"""ControlNets from folders that may hold anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from diffprof.errors import RequestError
from diffprof.pipelines.changes.controlnets import _published_controlnet


@pytest.mark.parametrize(
    "values", [{"num_attention_heads": [1]}, {"block_out_channels": 7}, {"down_block_types": ["NoBlock"]}]
)
def test_a_configuration_that_makes_no_controlnet_is_told_as_the_models(values: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"_class_name": "ControlNetModel", **values}))
    with pytest.raises(RequestError, match="ControlNetModel cannot be built from the configuration of controlnet"):
        _published_controlnet(str(tmp_path), torch.float32, [])
