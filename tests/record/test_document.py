"""A profile as the values of its file: costs stand there once, and derived numbers must be what the parts add up to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.errors import FileFormatError
from diffprof.record.files import from_json, load, to_json
from diffprof.record.format_rules import ADDED
from diffprof.record.profile import Profile
from tests.record.documents import Damage, change
from tests.sample_profiles import stable_diffusion


def test_equal_costs_stand_in_the_file_once() -> None:
    assert len(to_json(stable_diffusion())["costs"]) == 3


def test_calls_that_cost_the_same_share_one_cost_after_opening() -> None:
    profile = from_json(to_json(stable_diffusion()))
    assert len({id(call.cost) for call in profile.calls if call.component == "unet"}) == 1


DAMAGES = {
    "a total that is not the sum": change("total.macs", 1),
    "total parameters that are not the sum": change("total.parameters", 1),
    "flops that are not twice the macs": change("components.unet.flops", 1),
    "a component that is not the sum of its calls": change("components.unet.calls", 30),
    "component work that is not the sum of its calls": change("components.vae.read_bytes", 1),
    "weights that are not the sum of their dtypes": change("components.unet.weight_bytes_by_dtype", {"float16": 1}),
    "a cost that is not the sum of its operations": change("costs.1.operations.rows.0.6", 7),
    "a cost that is not the sum of its modules": change("costs.1.modules.rows.0.3", 7),
    "a call that disagrees with its cost": change("calls.0.other_flops", 1),
    "a call without a cost": change("calls.0.cost", 99),
    "a call of a component that is not there": change("calls.0.component", "nobody"),
    "a step count that is not the number of steps": change("steps.count", 1),
    "a step cost that is not that of a step": change("steps.stages.0.macs", 1),
    "a ledger that knows too much": change("ledger.known_ops", 99_999),
    "a negative count": change("components.unet.parameters", -1),
    "a count that is a fraction": change("components.unet.parameters", 1.5),
    "a count that is true": change("components.unet.parameters", True),
    "a count that is a text": change("calls.0.step", "0"),
    "a text that is a number": change("request.model", 5),
    "a list that is a text": change("request.enable", "freeu"),
    "a list of other things": change("ledger.assumptions", [1]),
    "an object that is a list": change("components", []),
    "a component that is not an object": change("components.unet", 3),
    "calls that are not objects": change("calls", [1]),
    "a table with other columns": change("costs.0.operations.columns", ["name"]),
    "a table with short rows": change("costs.0.operations.rows", [["a"]]),
    "a table without rows": change("costs.0.operations", {"columns": []}),
    "a negative step": change("steps.stages.0.step_macs.0", -1),
    "a count that nothing can reach": change("components.unet.parameters", 10**101),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_profile_is_rejected(damage: Damage, tmp_path: Path) -> None:
    values = to_json(stable_diffusion())
    damage(values)
    path = tmp_path / "p.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(FileFormatError, match="damaged") as refusal:
        load(path)
    assert str(refusal.value).startswith(str(path))


@pytest.mark.parametrize("key", sorted(to_json(stable_diffusion()).keys() - set(ADDED[Profile])))
def test_a_profile_with_a_part_missing_is_rejected(key: str) -> None:
    values = to_json(stable_diffusion())
    del values[key]
    with pytest.raises(FileFormatError):
        from_json(values)
