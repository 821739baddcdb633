"""Tokenizers: the model's own if its files exist, else a stand-in with the right lengths."""

from __future__ import annotations

import contextlib
import inspect
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, PreTrainedTokenizer, PreTrainedTokenizerFast
from transformers.tokenization_python import PythonBackend
from transformers.tokenization_utils_base import VERY_LARGE_INTEGER, AddedToken

from diffprof.catalogue import TokenizerFacts
from diffprof.errors import DiffprofError, RequestError, error_summary
from diffprof.pipelines.building.tokenizer_bounds import check_tokenizer_file
from diffprof.pipelines.building.tokenizer_families import encoder_of, family_of
from diffprof.pipelines.failures import panics_as_errors
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.classes import Kind, kind_of, part_class
from diffprof.pipelines.plans.config_bounds import LONGEST_TEXT, NO_LENGTH
from diffprof.pipelines.plans.folder import read_json
from diffprof.record.texts import STAND_IN_TOKENS

VOCABULARY_FILES = (
    ("tokenizer.json",), ("vocab.json", "merges.txt"), ("spiece.model",), ("tokenizer.model",), ("vocab.txt",),
    ("sentencepiece.bpe.model",),
)  # fmt: skip


def tokenizer_of(blueprint: Blueprint, plan: PartPlan, assumptions: list[str]) -> Any:
    """Build the tokenizer of a slot; add the assumptions of a stand-in to `assumptions`."""
    if has_vocabulary(plan):
        return _with_template(blueprint, plan, _own_tokenizer(plan), assumptions)
    if _is_byte_tokenizer(plan):
        assumptions.append(f"{plan.slot} has no configuration: the defaults of {plan.class_name} are assumed")
        return part_class(plan.library, plan.class_name)()
    facts = plan.tokenizer or tokenizer_facts(blueprint, plan)
    assumptions.append(
        f"{plan.slot}: a stand-in for {plan.class_name}, one token for each word and mark; "
        "texts that are padded to a fixed length are not affected"
    )
    kind = StandInChatGLMTokenizer if "ChatGLM" in plan.class_name else StandInTokenizer
    return kind(facts, _own_class(plan))


def _own_class(plan: PartPlan) -> Any:
    """Return the class that a stand-in imitates; None if the tokenizer is inside a processor."""
    owner = part_class(plan.library, plan.class_name)
    return owner if kind_of(owner) is Kind.tokenizer and owner is not AutoTokenizer else None


def has_vocabulary(plan: PartPlan) -> bool:
    """Whether the files of the tokenizer exist; a byte tokenizer needs only its configuration."""
    folder = plan.folder
    if folder is None:
        return False
    if _is_byte_tokenizer(plan):
        return (folder / "tokenizer_config.json").is_file()
    return any(all(_is_real_file(folder / name) for name in names) for names in vocabulary_files(plan))


def vocabulary_files(plan: PartPlan) -> Sequence[tuple[str, ...]]:
    """Return sets of files, each of which is sufficient for the tokenizer."""
    owner = part_class(plan.library, plan.class_name)
    if kind_of(owner) is Kind.tokenizer and issubclass(owner, PythonBackend):
        return [tuple(owner.vocab_files_names.values())]
    return VOCABULARY_FILES


def _is_byte_tokenizer(plan: PartPlan) -> bool:
    return plan.class_name.startswith("ByT5")


def _is_real_file(path: Path) -> bool:
    """Whether a file exists, and is not just a git-lfs pointer."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(LFS_POINTER)) != LFS_POINTER


LFS_POINTER = b"version https://git-lfs"


def _own_tokenizer(plan: PartPlan) -> Any:
    """Load the tokenizer from the files in the folder, without running code of the repository."""
    owner = part_class(plan.library, plan.class_name)
    if kind_of(owner) is not Kind.tokenizer:
        owner = AutoTokenizer
    try:
        if owner is AutoTokenizer:
            with contextlib.suppress(Exception):  # it needs to know the model, which the files may not name
                return _load(owner, plan)
            owner = PreTrainedTokenizerFast
        return _load(owner, plan)
    except DiffprofError:
        raise
    except Exception as error:
        raise RequestError(
            f"the tokenizer files in {plan.folder} cannot be read ({error_summary(error)}); fetch them again"
        ) from error


def _load(owner: Any, plan: PartPlan) -> Any:
    assert plan.folder is not None, "its files make the tokenizer"
    check_tokenizer_file(plan.folder)
    with panics_as_errors():
        tokenizer = owner.from_pretrained(str(plan.folder), local_files_only=True, trust_remote_code=False)
    return _with_bounded_lengths(tokenizer, plan)


def _with_bounded_lengths(tokenizer: Any, plan: PartPlan) -> Any:
    """Refuse a tokenizer that would pad texts to a length that no model reads."""
    # transformers writes this for a tokenizer without a maximum length; it never pads to it.
    if tokenizer.model_max_length >= NO_LENGTH:
        tokenizer.model_max_length = VERY_LARGE_INTEGER
    inner = getattr(tokenizer, "_tokenizer", None)
    lengths = [part.get(name) for part in (_dictionary(inner, "padding"), _dictionary(inner, "truncation"))
               for name in ("length", "max_length", "pad_to_multiple_of", "stride")]  # fmt: skip
    longest = max((length for length in lengths if isinstance(length, int)), default=0)
    if tokenizer.model_max_length < NO_LENGTH:
        longest = max(longest, int(tokenizer.model_max_length))
    if longest > LONGEST_TEXT:
        raise RequestError(
            f"the tokenizer files in {plan.folder} ask for texts of {longest:,} tokens; diffprof takes at most "
            f"{LONGEST_TEXT:,}"
        )
    return tokenizer


def _dictionary(inner: Any, name: str) -> Mapping[str, Any]:
    value = getattr(inner, name, None)
    return value if isinstance(value, Mapping) else {}


def _with_template(blueprint: Blueprint, plan: PartPlan, tokenizer: Any, assumptions: list[str]) -> Any:
    """Give a language model's tokenizer without a chat template that of its family."""
    template = family_of(blueprint, plan).chat_template
    if getattr(tokenizer, "chat_template", None) is None and template is not None:
        tokenizer.chat_template = template
        if uses_chat_template(blueprint):
            assumptions.append(f"{plan.slot} has no chat template: that of its family is assumed")
    return tokenizer


def uses_chat_template(blueprint: Blueprint) -> bool:
    """Whether the pipeline's own code applies a chat template to prompts."""
    import diffusers

    owner = getattr(diffusers, blueprint.pipeline, None)
    if not (isinstance(owner, type) and issubclass(owner, diffusers.DiffusionPipeline)):
        return True  # a modular pipeline, whose code is in its blocks
    return "apply_chat_template" in inspect.getsource(sys.modules[owner.__module__])


class StandInTokenizer(PreTrainedTokenizer):  # type: ignore[misc]
    """Splits a text into words and punctuation marks, and adds the special tokens of the original tokenizer."""

    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012  the base class declares it this way

    def __init__(self, facts: TokenizerFacts, imitated_class: type | None = None) -> None:
        self.facts = facts
        self._passes_for = imitated_class
        tokens = {
            number: AddedToken(token, special=True, normalized=False) for token, number in facts.special_tokens.items()
        }
        super().__init__(
            added_tokens_decoder=tokens,
            model_max_length=facts.model_max_length,
            padding_side=facts.padding_side,
            chat_template=facts.chat_template,
            **facts.roles,
        )

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Return the imitated class, because a pipeline may check the class of its tokenizer (AudioLDM 2 does)."""
        return vars(self).get("_passes_for") or type(self)

    def with_special_tokens(self, tokens: Mapping[str, int]) -> StandInTokenizer:
        """Return the same tokenizer with additional special tokens, by id."""
        facts = replace(self.facts, special_tokens={**self.facts.special_tokens, **tokens})
        return type(self)(facts, self._passes_for)

    @property
    def vocab_size(self) -> int:
        return self.facts.vocab_size

    def get_vocab(self) -> dict[str, int]:
        return dict(self.facts.special_tokens)

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Add the tokens before and after a text."""
        before = self.convert_tokens_to_ids(list(self.facts.prefix))
        after = self.convert_tokens_to_ids(list(self.facts.suffix))
        return [*before, *token_ids_0, *(token_ids_1 or []), *after]

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        return STAND_IN_TOKENS.findall(text)

    def _convert_token_to_id(self, token: str) -> int:
        """Return any id that is not of a special token; ids do not change the cost."""
        special = self.facts.special_tokens
        if token in special:
            return special[token]
        taken = set(special.values())
        number = zlib.crc32(token.encode()) % self.facts.vocab_size
        # If special tokens take all ids, any id will do.
        following = ((number + step) % self.facts.vocab_size for step in range(len(taken) + 1))
        return next((free for free in following if free not in taken), number)

    def _convert_id_to_token(self, index: int) -> str:
        return next((token for token, number in self.facts.special_tokens.items() if number == index), f"<{index}>")

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        return "".join(tokens)

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        return ()


class StandInChatGLMTokenizer(StandInTokenizer):
    """Adds the positions of the tokens, as ChatGLM's tokenizer does; padding on the left has none."""

    def __call__(self, *texts: Any, **options: Any) -> Any:
        result = super().__call__(*texts, **options)
        mask = torch.as_tensor(result["attention_mask"])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        result["position_ids"] = positions if options.get("return_tensors") == "pt" else positions.tolist()
        return result


def tokenizer_facts(blueprint: Blueprint, plan: PartPlan) -> TokenizerFacts:
    """Read the facts of a tokenizer from its small files, and take the rest from its family."""
    family = family_of(blueprint, plan)
    config = {
        **_small_file(plan, "special_tokens_map.json"),
        **plan.config,
        **_small_file(plan, "tokenizer_config.json"),
    }
    tokens = {**family.special_tokens, **_added_tokens(plan, config)}
    roles = dict(family.roles)
    for role in ("bos_token", "eos_token", "pad_token", "unk_token"):
        token = config.get(role)
        token = token.get("content") if isinstance(token, Mapping) else token
        if isinstance(token, str):
            roles[role] = token
            tokens.setdefault(token, _unused_number(tokens.values(), family.vocab_size))
    template = config.get("chat_template")
    return TokenizerFacts(
        model_max_length=_length(config.get("model_max_length"), family.model_max_length),
        vocab_size=_vocabulary_of_encoder(blueprint, plan) or family.vocab_size,
        prefix=_surrounding_tokens(family.prefix, roles, config.get("add_bos_token"), "bos_token"),
        suffix=_surrounding_tokens(family.suffix, roles, config.get("add_eos_token"), "eos_token"),
        padding_side=str(config.get("padding_side", family.padding_side)),
        special_tokens=tokens,
        roles=roles,
        chat_template=template if isinstance(template, str) else own_template(plan) or family.chat_template,
    )


def _length(value: Any, usual: int) -> int:
    """Return the maximum length of a tokenizer: from its configuration, or that of its family."""
    is_length = isinstance(value, int | float) and not isinstance(value, bool) and value >= 1
    return int(min(value, NO_LENGTH)) if is_length else usual


def _small_file(plan: PartPlan, name: str) -> dict[str, Any]:
    path = plan.folder / name if plan.folder is not None else None
    return read_json(path) if path is not None and path.is_file() else {}


def _added_tokens(plan: PartPlan, config: Mapping[str, Any]) -> dict[str, int]:
    """Return the special tokens and their ids, from whichever small file has them."""
    found = _small_file(plan, "added_tokens.json")
    decoder = config.get("added_tokens_decoder")
    for number, token in (decoder if isinstance(decoder, Mapping) else {}).items():
        if isinstance(token, Mapping) and str(number).isdecimal() and len(str(number)) < 10:
            found[str(token.get("content"))] = int(number)
    return {token: number for token, number in found.items() if isinstance(number, int)}


def own_template(plan: PartPlan) -> str | None:
    """Return the chat template in a separate file next to a tokenizer or processor."""
    if plan.folder is None:
        return None
    path = plan.folder / "chat_template.jinja"
    if path.is_file() and path.stat().st_size <= LARGEST_TEMPLATE_BYTES:
        return path.read_text(encoding="utf-8", errors="replace")
    template = _small_file(plan, "chat_template.json").get("chat_template")
    return template if isinstance(template, str) else None


LARGEST_TEMPLATE_BYTES = 1024 * 1024


def _surrounding_tokens(usual: Sequence[str], roles: Mapping[str, str], setting: Any, role: str) -> tuple[str, ...]:
    """Return the special tokens around a text: those of the class, unless the tokenizer's config overrides them."""
    if setting is False:
        return ()
    if setting is True or usual == (role,):
        return (roles[role],) if role in roles else ()
    return tuple(usual)


def _unused_number(taken: Any, vocabulary: int) -> int:
    numbers = set(taken)
    return next(number for number in range(vocabulary + len(numbers) + 1) if number not in numbers)


def _vocabulary_of_encoder(blueprint: Blueprint, plan: PartPlan) -> int | None:
    encoder = encoder_of(blueprint, plan)
    if encoder is None:
        return None
    nested = encoder.config.get("text_config")
    for config in (encoder.config, nested if isinstance(nested, Mapping) else {}):
        size = config.get("vocab_size")
        if type(size) is int and size > 0:
            return size
    return None
