"""Fetches the configuration of a pipeline from the Hugging Face hub: JSON and tokenizer files, never weights."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diffprof.errors import DiffprofError, RequestError
from diffprof.pipelines.folder import read_json

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
    """The local folder that holds the pipeline's configuration files, fetched when they are not there yet."""
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import EntryNotFoundError

    with explain_hub_errors(hub_id, for_weights, revision):
        where: dict[str, Any] = {"local_files_only": not is_reachable(hub_id, revision), "revision": revision}
        try:
            index = Path(hf_hub_download(hub_id, "model_index.json", **where))
        except EntryNotFoundError:
            index = Path(hf_hub_download(hub_id, "modular_model_index.json", **where))
        slots = [slot for slot, value in read_json(index).items() if isinstance(value, list)]
        patterns = [
            "model_index.json",
            "modular_model_index.json",
            *(f"{slot}/{name}" for slot in slots for name in (*CONFIGURATION, *TOKENIZER)),
        ]
        return Path(snapshot_download(hub_id, allow_patterns=patterns, **where))


@contextlib.contextmanager
def explain_hub_errors(hub_id: str, for_weights: bool = False, revision: str | None = None) -> Iterator[None]:
    """What goes wrong between here and the hub becomes one sentence."""
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
        raise RequestError(f"{hub_id} is not a diffusers pipeline: the repository has no model_index.json") from None
    except HfHubHTTPError as error:
        raise DiffprofError(f"the hub did not answer for {hub_id} ({error}); try again later") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiffprofError(f"the disk is full: {hub_id} could not be downloaded completely") from None
        raise _offline_error(hub_id, for_weights, str(error)) from None


def is_reachable(hub_id: str, revision: str | None = None) -> bool:
    """Does the hub answer? Asked once and briefly: a download would try again and again for half a minute."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().model_info(hub_id, revision=revision, timeout=ANSWER_SECONDS)
    except HfHubHTTPError:
        raise
    except Exception:  # noqa: BLE001  whatever the HTTP library of the day raises when there is no network
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
