"""Download a model's weights from the Hugging Face hub: exactly the safetensors files that will be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from diffprof.pipelines.loading.weight_files import check_variant, choose_weight_file, shards_of
from diffprof.pipelines.plans.hub import explain_hub_errors, is_reachable
from diffprof.record.preparation import Preparation
from diffprof.record.progress import Activity, Progress, ProgressEvent


def fetch_weights(
    hub_id: str,
    models: Mapping[str, Any],
    dtype: torch.dtype,
    progress: Progress | None,
    preparation: Preparation | None = None,
) -> Path:
    """Return the local folder with the weights of these classes, by slot; download missing ones."""
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download

    revision, variant = (preparation.revision, preparation.variant) if preparation else (None, None)
    with explain_hub_errors(hub_id, for_weights=True, revision=revision):
        if not is_reachable(hub_id, revision):
            # Earlier downloads may be sufficient; reading the folder reports what is missing.
            here: dict[str, Any] = {"revision": revision, "local_files_only": True}
            return Path(snapshot_download(hub_id, allow_patterns=["*.safetensors"], **here))
        names = HfApi().list_repo_files(hub_id, revision=revision)
        patterns, choices = [], {}
        for slot, owner in models.items():
            within = [name.removeprefix(f"{slot}/") for name in names if name.startswith(f"{slot}/")]
            choices[slot] = choose_weight_file(within, f"{hub_id}/{slot}", slot, owner, dtype, variant)
        check_variant(variant, [choice.variant for choice in choices.values()], hub_id)
        for slot, choice in choices.items():
            patterns.append(f"{slot}/{choice.name}")
            if choice.is_index:
                index = Path(hf_hub_download(hub_id, f"{slot}/{choice.name}", revision=revision))
                patterns += [f"{slot}/{shard}" for shard in shards_of(index)]
        bars = _bars(hub_id, progress)
        return Path(snapshot_download(hub_id, allow_patterns=patterns, revision=revision, tqdm_class=bars))


def _bars(hub_id: str, progress: Progress | None) -> Any:
    """Return a progress bar class for the hub that draws nothing and forwards to `progress`."""
    from huggingface_hub.utils.tqdm import tqdm

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.counts_bytes = kwargs.get("unit") == "B"
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            self.n += n or 0
            if progress and self.counts_bytes:
                progress(ProgressEvent(Activity.fetching, hub_id, int(self.n), int(self.total or 0) or None))
            return None

    return Bar
