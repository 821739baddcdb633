"""A predicted time as tables: by accelerator, by component and by kind of operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from diffprof.advice.views.request_words import request_lines, setting_words
from diffprof.record.prediction import PredictedTime, Prediction
from diffprof.render import numbers
from diffprof.render.blocks import Block
from diffprof.render.columns import Column

LIMITED = {
    "compute": "compute",
    "bandwidth": "bandwidth",
    "launches": "launches",
    "transfers": "transfers",
    "host": "the host",
}
FITS = {True: "yes", False: "no", None: ""}
MOST_ACCELERATORS = 8
"""That have a column of their own in the tables of components and kinds, where a table cannot scroll."""


class PredictionTable(str, Enum):
    """What the rows of the table are."""

    accelerator = "accelerator"
    component = "component"
    kind = "kind"


def blocks(
    prediction: Prediction,
    by: PredictionTable | None = None,
    verbose: bool = False,
    most: int | None = MOST_ACCELERATORS,
) -> list[Block]:
    """All tables, or one of them; with all assumptions or with how many there are.

    At most this many accelerators have a column of their own; all of them if it is none.
    """
    tables = {
        PredictionTable.accelerator: accelerator_block(prediction),
        PredictionTable.component: component_block(prediction, most),
        PredictionTable.kind: kind_block(prediction, most),
    }
    chosen = list(tables.values()) if by is None else [tables[by]]
    return [*chosen, *([_assumptions(prediction)] if verbose else [_number_of_assumptions(prediction)])]


def accelerator_block(prediction: Prediction) -> Block:
    """One row for each accelerator, the fastest first."""
    rows = _fastest_first(prediction)
    times = [time for _, time in rows]
    columns = [
        Column("accelerator", [name for name, _ in rows], justify="left", style="bold"),
        Column("expected", [numbers.estimate(time.total_seconds) for time in times]),
        Column("interval", [_interval(time) for time in times], rank=1),
        Column("lower bound", [numbers.estimate(time.bound_seconds) for time in times], rank=3),
        Column("per step", [numbers.estimate(time.step_seconds) for time in times], rank=2),
        Column("limited by", [LIMITED[time.limited_by] for time in times], rank=4, justify="left"),
        Column("energy", [_joules(time) for time in times], rank=6),
        *_optional("price", [_price(time) for time in times]),
        *_optional("fits", [FITS[time.fits] for time in times]),
        Column("fitted to", [BASES[time.basis] for time in times], rank=7, justify="left", style="dim"),
    ]
    return Block(
        f"{prediction.model}: time of one generation", [*request_lines(prediction), describe_basis(prediction)], columns
    )


def _fastest_first(prediction: Prediction) -> list[tuple[str, PredictedTime]]:
    return sorted(prediction.accelerators.items(), key=lambda item: item[1].total_seconds)


BASES = {"device": "this one", "family": "its family", "none": "others", "measured": "this machine"}
"""Where the numbers of an accelerator came from."""


def component_block(prediction: Prediction, most: int | None = MOST_ACCELERATORS) -> Block:
    """Seconds of each component, with a column for each accelerator."""
    return _parts_block(
        "By component",
        "component",
        {
            name: {slot: part.total_seconds for slot, part in time.components.items()}
            for name, time in _fastest_first(prediction)
        },
        most,
    )


def kind_block(prediction: Prediction, most: int | None = MOST_ACCELERATORS) -> Block:
    """Seconds of each kind of operation, with a column for each accelerator."""
    return _parts_block(
        "By kind of operation", "kind", {name: time.kinds for name, time in _fastest_first(prediction)}, most
    )


def _parts_block(title: str, heading: str, parts: Mapping[str, Mapping[str, float]], most: int | None) -> Block:
    shown = dict(list(parts.items())[:most])
    longest: dict[str, float] = {}
    for table in shown.values():
        for name, seconds in table.items():
            longest[name] = max(longest.get(name, 0.0), seconds)
    names = sorted(longest, key=lambda name: -longest[name])
    columns = [Column(heading, names, justify="left", style="bold")]
    columns += [
        Column(accelerator, [numbers.estimate(table.get(name, 0.0)) for name in names], rank=place)
        for place, (accelerator, table) in enumerate(shown.items())
    ]
    left = len(parts) - len(shown)
    return Block(title, columns=columns, after=[f"and {numbers.times(left, 'more accelerator')}"] if left else [])


def describe_basis(prediction: Prediction) -> str:
    """The program that is predicted, and how sure that is."""
    settings = prediction.settings
    parts = ["diffusers", "compiled" if settings.compiled else "eager", *setting_words(settings)]
    return f"predicted for {', '.join(parts)}; nine of ten measured times should fall within the interval"


def _optional(heading: str, cells: Sequence[str]) -> list[Column]:
    return [Column(heading, cells, rank=5)] if any(cells) else []


def _interval(time: PredictedTime) -> str:
    return f"{numbers.estimate(time.low_seconds)} to {numbers.estimate(time.high_seconds)}"


def _joules(time: PredictedTime) -> str:
    return "" if time.energy_joules is None else numbers.joules(time.energy_joules)


def _price(time: PredictedTime) -> str:
    return "" if time.price_usd is None else numbers.dollars(time.price_usd)


def _assumptions(prediction: Prediction) -> Block:
    return Block("Assumptions", [f"- {line}" for line in prediction.assumptions])


def _number_of_assumptions(prediction: Prediction) -> Block:
    count = numbers.times(len(prediction.assumptions), "assumption")
    return Block(lines=[f"{count}: --verbose lists them."])
