"""Tables of a prediction as CSV."""

from __future__ import annotations

from diffprof.advice.views.prediction_tables import PredictionTable
from diffprof.record.prediction import Prediction
from diffprof.render.csv import table_csv

ACCELERATOR_COLUMNS = (
    *("accelerator", "total_seconds", "low_seconds", "high_seconds", "bound_seconds", "step_seconds", "limited_by"),
    *("energy_joules", "price_usd", "fits", "basis"),
)


def prediction_csv(prediction: Prediction, by: PredictionTable = PredictionTable.accelerator) -> str:
    """One table of the prediction as CSV."""
    if by is PredictionTable.accelerator:
        rows = [
            {"accelerator": name, **{column: getattr(time, column) for column in ACCELERATOR_COLUMNS[1:]}}
            for name, time in prediction.accelerators.items()
        ]
        return table_csv(ACCELERATOR_COLUMNS, rows)
    if by is PredictionTable.component:
        columns = ("accelerator", "component", "total_seconds", "bound_seconds", "calls", "limited_by")
        parts = [
            {"accelerator": name, "component": slot, **{column: getattr(part, column) for column in columns[2:]}}
            for name, time in prediction.accelerators.items()
            for slot, part in time.components.items()
        ]
        return table_csv(columns, parts)
    kinds = [
        {"accelerator": name, "component": slot, "kind": kind, "seconds": seconds}
        for name, time in prediction.accelerators.items()
        for slot, part in time.components.items()
        for kind, seconds in part.kinds.items()
    ]
    return table_csv(("accelerator", "component", "kind", "seconds"), kinds)
