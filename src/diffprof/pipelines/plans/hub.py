"""Download the configuration of a pipeline from the Hugging Face hub: JSON and tokenizer files, never weights."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from diffprof.errors import DiffprofError, RequestError
from diffprof.pipelines.plans.folder import read_json
from diffprof.pipelines.plans.modular_entries import modular_entry

ANSWER_SECONDS = 10
CONFIGURATION = (
    "config.json", "scheduler_config.json", "guider_config.json", "preprocessor_config.json", "processor_config.json",
    "generation_config.json",
)  # fmt: skip
TOKENIZER = (
    "tokenizer_config.json", "tokenizer.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "vocab.txt", "merges.txt", "spiece.model", "tokenizer.model", "sentencepiece.bpe.model", "chat_template.jinja",
    "chat_template.json",
)  # fmt: skip


def fetch_configuration(hub_id: str, for_weights: bool = False, revision: str | None = None) -> Path:
    """Return the local folder with the pipeline's configuration files; download them if they are missing."""
    from huggingface_hub import snapshot_download

    with explain_hub_errors(hub_id, for_weights, revision):
        where: dict[str, Any] = {"local_files_only": not is_reachable(hub_id, revision), "revision": revision}
        index = _index(hub_id, where)
        if index is None:
            # A single component: a ControlNet, a transformer, a VAE.
            return Path(snapshot_download(hub_id, allow_patterns=[*CONFIGURATION, *TOKENIZER], **where))
        folders = [_folder_of(slot, value) for slot, value in read_json(index).items() if isinstance(value, list)]
        patterns = [
            "model_index.json",
            "modular_model_index.json",
            *CONFIGURATION,  # the first repositories have the files of all components next to the index
            *(f"{folder}/{name}" for folder in folders for name in (*CONFIGURATION, *TOKENIZER)),
        ]
        return Path(snapshot_download(hub_id, allow_patterns=patterns, **where))


def fetch_component(hub_id: str, folder: str, revision: str | None = None) -> Path:
    """Return the local folder with the configuration of one component; `folder` is empty for the repository's root."""
    from huggingface_hub import snapshot_download

    with explain_hub_errors(hub_id, revision=revision):
        where: dict[str, Any] = {"local_files_only": not is_reachable(hub_id, revision), "revision": revision}
        names = [f"{folder}/{name}" if folder else name for name in (*CONFIGURATION, *TOKENIZER)]
        return Path(snapshot_download(hub_id, allow_patterns=names, **where)) / folder


def _index(hub_id: str, where: Mapping[str, Any]) -> Path | None:
    """Return the index of a pipeline, an ordinary or a modular one; None if the repository has a single component."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    def has(name: str) -> bool:
        try:
            hf_hub_download(hub_id, name, **where)
        except EntryNotFoundError:  # or it is not on this machine
            return False
        return True

    index = next(filter(has, ("model_index.json", "modular_model_index.json")), None)
    # If there is no configuration of a component either, the hub raises the error.
    found = Path(hf_hub_download(hub_id, index or "config.json", **where))
    return found if index is not None else None


def _folder_of(slot: str, value: list[Any]) -> str:
    """Return the folder of a component's files, from its entry in the index."""
    entry = modular_entry(slot, value)
    return slot if entry is None else entry.subfolder


@contextlib.contextmanager
def explain_hub_errors(hub_id: str, for_weights: bool = False, revision: str | None = None) -> Iterator[None]:
    """Convert errors of the connection to the hub into one sentence."""
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except GatedRepoError:
        raise RequestError(f"{hub_id} is gated: accept its licence on the hub and run `hf auth login`") from None
    except RepositoryNotFoundError:
        raise RequestError(
            f"the hub has no model {hub_id}, or it is private; check the name or run `hf auth login`"
        ) from None
    except RevisionNotFoundError:
        raise RequestError(
            f"{hub_id} has no revision {revision} on the hub; leave out --revision or correct it"
        ) from None
    except LocalEntryNotFoundError:
        raise _offline_error(hub_id, for_weights) from None
    except EntryNotFoundError:
        raise RequestError(
            f"{hub_id} is not a diffusers pipeline: the repository has no model_index.json, and no config.json of a "
            "component"
        ) from None
    except HfHubHTTPError as error:
        raise DiffprofError(f"the hub did not answer for {hub_id} ({error}); try again later") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiffprofError(f"the disk is full: {hub_id} could not be downloaded completely") from None
        raise _offline_error(hub_id, for_weights, str(error)) from None


def is_reachable(hub_id: str, revision: str | None = None) -> bool:
    """Whether the hub responds; checked once and briefly, because a download would retry for half a minute."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().model_info(hub_id, revision=revision, timeout=ANSWER_SECONDS)
    except HfHubHTTPError:
        raise
    except Exception:  # noqa: BLE001  any error of the HTTP library without a network
        return False
    return True


def _offline_error(hub_id: str, for_weights: bool, why: str = "") -> DiffprofError:
    reason = f" ({why})" if why else ""
    lacking = f"the weights of {hub_id} are not on this machine" if for_weights else f"{hub_id} is not in the catalogue"
    otherwise = (
        "measure with random weights (`diffprof run --random-weights`)"
        if for_weights
        else "choose one of `diffprof models`"
    )
    return DiffprofError(
        f"{lacking} and the hub cannot be reached{reason}; connect to the network, give a local folder, or {otherwise}"
    )
