"""Compare models and uploaded profiles for the page, with curves over size and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diffprof.app.model_choices import model_title
from diffprof.app.sliders import count_model
from diffprof.app.uploads import LARGEST_UPLOAD
from diffprof.comparison import Comparison, compare
from diffprof.errors import RequestError
from diffprof.record.files import load
from diffprof.record.profile import Profile
from diffprof.record.progress import Activity, Progress, ProgressEvent

MAX_COMPARED = 12


def compare_sources(
    models: Sequence[str], uploads: Sequence[str], arguments: Mapping[str, Any], curves: bool, progress: Progress
) -> Comparison:
    """Count the models, load the uploads, and compare them."""
    if len(models) + len(uploads) < 2:
        raise RequestError("Choose at least two models, or upload saved profiles.")
    if len(models) + len(uploads) > MAX_COMPARED:
        raise RequestError(f"At most {MAX_COMPARED} can be compared at once, not {len(models) + len(uploads)}.")

    def count(model: str, changes: Mapping[str, Any]) -> Profile:
        progress(ProgressEvent(Activity.counting, model_title(model), changes=changes))
        return count_model(model, {**arguments, **changes}, progress)

    saved = [load_upload(Path(path)) for path in uploads]
    counted = [count_model(model, arguments, progress) for model in models]
    return compare(
        [*counted, *saved],
        [*map(model_title, models), *(Path(path).name for path in uploads)],
        models=[*models, *[None] * len(saved)],
        count=count if curves else None,
    )


def load_upload(path: Path) -> Profile:
    """Load an uploaded profile; errors show the file's own name, not its temporary path."""
    # A small compressed file can contain a very large one.
    return load(path, LARGEST_UPLOAD, shown_as=path.name)
