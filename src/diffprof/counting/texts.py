"""The inputs of text encoders: how many tokens the texts had, and which tokenizer made them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from diffprof.counting.boundary import parameter_names
from diffprof.pipelines.building.tokenizers import StandInTokenizer
from diffprof.pipelines.patching import Patches
from diffprof.record.texts import EncodedText


class TextRecorder:
    """Observes the tokenizers of a pipeline, and the components that read their tokens."""

    def __init__(self, pipeline: Any) -> None:
        self.encoded: dict[EncodedText, None] = {}
        self._tokenizers = tokenizers_of(pipeline)
        self._slots = {id(tokenizer): slot for slot, tokenizer in self._tokenizers.items()}
        self._lengths: dict[tuple[int, ...], tuple[str, int]] = {}
        """For each padded sequence of tokens, the slot of its tokenizer and the number of tokens without padding."""

    def catch_tokenizers(self, patches: Patches) -> None:
        """Observe the results of the pipeline's tokenizers while it runs."""

        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def call(tokenizer: Any, *args: Any, **kwargs: Any) -> Any:
                result = original(tokenizer, *args, **kwargs)
                slot = self._slots.get(id(tokenizer))
                if slot is not None and isinstance(result, Mapping):
                    self._remember(slot, result)
                return result

            return call

        if self._tokenizers:
            patches.function(PreTrainedTokenizerBase, "__call__", wrap)

    def _remember(self, slot: str, result: Mapping[str, Any]) -> None:
        rows, masks = _rows(result.get("input_ids")), _rows(result.get("attention_mask"))
        for number, row in enumerate(rows):
            self._lengths[row] = (slot, sum(masks[number]) if number < len(masks) else len(row))

    def note_call(self, component: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> None:
        """Record the texts of a component call, if it has any."""
        if not self._tokenizers:
            return
        named = {**dict(zip(parameter_names(function), args, strict=False)), **kwargs}
        rows, masks = _rows(named.get("input_ids")), _rows(named.get("attention_mask"))
        if not rows:
            return
        known = [self._lengths.get(row) for row in rows]
        slot = next((found[0] for found in known if found is not None), self._usual_tokenizer(component))
        tokens = [
            sum(map(bool, masks[number])) if len(masks) == len(rows) and len(masks[number]) == len(row)
            else known[number][1] if known[number] is not None  # type: ignore[index]
            else len(row)
            for number, row in enumerate(rows)
        ]  # fmt: skip
        is_stand_in = isinstance(self._tokenizers.get(slot or ""), StandInTokenizer)
        self.encoded[EncodedText(component, slot, tuple(tokens), len(rows[0]), is_stand_in)] = None

    def _usual_tokenizer(self, component: str) -> str | None:
        name = component.replace("text_encoder", "tokenizer")
        return name if name in self._tokenizers else None


def tokenizers_of(pipeline: Any) -> dict[str, Any]:
    """Return the tokenizers of a pipeline by slot, including those inside processors."""
    found = {}
    for slot, part in getattr(pipeline, "components", {}).items():
        tokenizer = part if isinstance(part, PreTrainedTokenizerBase) else getattr(part, "tokenizer", None)
        if isinstance(tokenizer, PreTrainedTokenizerBase):
            found[slot] = tokenizer
    return found


def _rows(value: Any) -> list[tuple[int, ...]]:
    """Return the rows of integers in a tensor, a list or an array; empty if it has no values."""
    if isinstance(value, torch.Tensor):
        if value.is_meta or value.dim() != 2 or value.is_floating_point():
            return []
        with torch._C._DisableTorchDispatch():
            value = value.tolist()
    if not isinstance(value, list) or not value:
        return []
    rows = value if isinstance(value[0], list) else [value]
    return [tuple(row) for row in rows if all(isinstance(number, int) for number in row)]
