"""Files of format version 1 open as profiles of today: real files that the last diffprof of version 1 wrote."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import diffprof
from diffprof.errors import FileFormatError
from diffprof.record.files import from_json, to_json
from diffprof.record.sizes import ComputedSize, ResizedOutput
from diffprof.record.tensors import OperationShapes, TensorInput, TensorShape
from diffprof.record.version_1 import upgrade
from tests.record.documents import SCHEMA, Damage, change, leaves

DATA = Path(__file__).parent / "data"
COUNTED, RESIZED, MEASURED = "shapes.v1.json.gz", "sana-1.6b-1024-512x544.v1.json.gz", "run-shapes.v1.json.gz"


def document(name: str) -> dict[str, Any]:
    with gzip.open(DATA / name) as file:
        values: dict[str, Any] = json.load(file)
    return values


@pytest.mark.parametrize("name", [COUNTED, RESIZED, MEASURED])
def test_a_file_of_version_1_opens_with_all_its_counts(name: str) -> None:
    values, profile = document(name), diffprof.load(DATA / name)
    assert values["format"]["version"] == 1
    assert profile.total.macs == values["total"]["macs"]
    assert {slot: part.macs for slot, part in profile.components.items()} == {
        slot: part["macs"] for slot, part in values["components"].items()
    }
    assert (profile.measured is not None) == ("measured" in values)


@pytest.mark.parametrize("name", [COUNTED, RESIZED, MEASURED])
def test_saved_again_it_is_a_file_of_this_version(name: str, tmp_path: Path) -> None:
    profile = diffprof.load(DATA / name)
    assert diffprof.load(profile.save(tmp_path / "p.json")) == profile
    jsonschema.Draft202012Validator(SCHEMA).validate(to_json(profile))


def test_every_table_keeps_its_rows_whatever_the_order_of_its_columns_was() -> None:
    values, profile = document(MEASURED), diffprof.load(DATA / MEASURED)
    assert profile.measured is not None
    table = values["measured"]["iterations"][0]["samples"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    samples = profile.measured.iterations[0].samples
    assert [(row["section"], row["step"], row["host_ns"]) for row in rows] == [
        (sample.section, sample.step, sample.span.host_ns) for sample in samples
    ]


def test_texts_about_shapes_become_shapes() -> None:
    profile = diffprof.load(DATA / COUNTED)
    step = next(call for call in profile.calls if call.step == 0)
    assert step.inputs == (
        TensorInput("sample", (TensorShape((2, 4, 16, 16)),)),
        TensorInput("timestep", (TensorShape(()),)),
        TensorInput("encoder_hidden_states", (TensorShape((2, 32, 64)),)),
    )
    linear = next(operation for operation in step.cost.operations if operation.kind == "linear")
    assert len(linear.shapes.inputs) in (2, 3)
    assert len(linear.shapes.outputs) == 1
    views = [operation for operation in step.cost.operations if operation.name == "view"]
    assert {view.shapes for view in views} == {OperationShapes()}


def test_several_tensors_of_one_argument_stay_together() -> None:
    values = document(COUNTED)
    values["calls"][0]["inputs"] = "input_ids 1x16, residuals 2x3 + scalar + 5 + 6 ..."
    assert from_json(values).calls[0].inputs == (
        TensorInput("input_ids", (TensorShape((1, 16)),)),
        TensorInput("residuals", tuple(TensorShape(shape) for shape in ((2, 3), (), (5,), (6,)))),
    )


def test_messages_about_sizes_become_fields() -> None:
    values = document(RESIZED)
    values["ledger"]["assumptions"].insert(0, "height 500 was asked for; the pipeline makes 512")
    profile = from_json(values)
    assert profile.computed_size == ComputedSize(1024, 960, 544, 512)
    assert profile.resized == (ResizedOutput("height", 500, 512),)
    assert not [text for text in profile.ledger.assumptions if "the pipeline" in text]
    assert len(profile.ledger.assumptions) == len(values["ledger"]["assumptions"]) - 2


def test_the_given_values_are_not_changed() -> None:
    values = document(COUNTED)
    upgrade(values)
    assert values == document(COUNTED)


DAMAGES: dict[str, tuple[Damage, str]] = {
    "inputs that are no shapes": (
        change("calls.0.inputs", "input_ids many"),
        "calls[0].inputs is not a list of shapes",
    ),
    "inputs that are no text": (change("calls.0.inputs", 5), "calls[0].inputs is not a list of objects"),
    "calls that are no list": (change("calls", 5), "calls is not a list of objects"),
    "shapes that are none": (
        change("costs.0.operations.rows.1.2", "2xx3"),
        "costs[0].operations.rows[1] is not a list of shapes",
    ),
    "shapes that are a number": (
        change("costs.0.operations.rows.1.2", 5),
        "row 1 of costs[0].operations does not fit its columns",
    ),
    "a size of a thousand digits": (
        change("calls.0.inputs", f"input_ids {'9' * 5000}"),
        "calls[0].inputs is not a list of shapes",
    ),
    "a total that is not the sum": (change("total.macs", 1), "total.flops is"),
}


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_of_version_1_is_rejected(damage: Damage, sentence: str) -> None:
    values = document(COUNTED)
    damage(values)
    with pytest.raises(FileFormatError) as refusal:
        from_json(values)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("tried", [1, pytest.param(5, marks=pytest.mark.extensive)])
def test_a_wrong_type_anywhere_is_always_a_file_format_error(tried: int) -> None:
    values = document(COUNTED)
    values["calls"] = values["calls"][:1]
    wrong_values = itertools.cycle((None, [], {}, "x", -1))
    for *parents, last in leaves(values):
        place: Any = values
        for part in parents:
            place = place[part]
        right = place[last]
        for wrong in itertools.islice(wrong_values, tried):
            place[last] = wrong
            try:
                from_json(values)
            except FileFormatError as refusal:
                assert str(refusal).count("\n") == 0
        place[last] = right
