"""Fetches a model's weights from the Hugging Face hub: exactly the safetensors files that will be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from diffprof.pipelines.hub import explain_hub_errors, is_reachable
from diffprof.pipelines.weight_files import choose_weight_file, shards_of
from diffprof.record.progress import Activity, Progress, ProgressEvent


def fetch_weights(hub_id: str, models: Mapping[str, Any], dtype: torch.dtype, progress: Progress | None) -> Path:
    """The local folder that holds the weights of these classes, by slot; fetched where they are not there yet."""
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download

    with explain_hub_errors(hub_id, for_weights=True):
        if not is_reachable(hub_id):
            # What was fetched before may be enough; reading the folder says what is missing.
            return Path(snapshot_download(hub_id, allow_patterns=["*.safetensors"], local_files_only=True))
        names = HfApi().list_repo_files(hub_id)
        patterns = []
        for slot, owner in models.items():
            within = [name.removeprefix(f"{slot}/") for name in names if name.startswith(f"{slot}/")]
            choice = choose_weight_file(within, f"{hub_id}/{slot}", slot, owner, dtype)
            patterns.append(f"{slot}/{choice.name}")
            if choice.is_index:
                index = Path(hf_hub_download(hub_id, f"{slot}/{choice.name}"))
                patterns += [f"{slot}/{shard}" for shard in shards_of(index)]
        return Path(snapshot_download(hub_id, allow_patterns=patterns, tqdm_class=_bars(hub_id, progress)))


def _bars(hub_id: str, progress: Progress | None) -> Any:
    """A progress bar class for the hub that draws nothing and forwards to `progress`."""
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
