"""Tokenizers: the model's own where its files are there, else a stand-in of the right lengths."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from transformers import PreTrainedTokenizer
from transformers.tokenization_utils_base import AddedToken

from diffprof.catalogue import TokenizerFacts
from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.blueprint import Blueprint, PartPlan
from diffprof.pipelines.classes import part_class
from diffprof.pipelines.folder import read_json

VOCABULARY_FILES = (
    ("tokenizer.json",), ("vocab.json", "merges.txt"), ("spiece.model",), ("tokenizer.model",), ("vocab.txt",),
    ("sentencepiece.bpe.model",),
)  # fmt: skip


def tokenizer_of(blueprint: Blueprint, plan: PartPlan, assumptions: list[str]) -> Any:
    """The tokenizer of a slot; what a stand-in takes for granted is added to `assumptions`."""
    if has_vocabulary(plan):
        return _own(plan)
    facts = plan.tokenizer or _facts(blueprint, plan)
    assumptions.append(
        f"{plan.slot}: a stand-in for {plan.class_name}, one token for each word and mark; "
        "texts that are padded to a fixed length are not affected"
    )
    return StandInTokenizer(facts)


def has_vocabulary(plan: PartPlan) -> bool:
    """Whether the files are there that the tokenizer is made of; one of bytes needs none but its configuration."""
    folder = plan.folder
    if folder is None:
        return False
    if plan.class_name.startswith("ByT5"):
        return (folder / "tokenizer_config.json").is_file()
    return any(all((folder / name).is_file() for name in names) for names in VOCABULARY_FILES)


def _own(plan: PartPlan) -> Any:
    owner = part_class(plan.library, plan.class_name)
    config = plan.folder / "tokenizer_config.json" if plan.folder else None
    if config is not None and config.is_file() and read_json(config).get("auto_map"):
        raise UnsafeModelError(f"{plan.folder} asks for tokenizer code from its repository; diffprof runs none")
    try:
        return owner.from_pretrained(str(plan.folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise RequestError(
            f"the tokenizer files in {plan.folder} cannot be read ({error}); fetch them again"
        ) from error


class StandInTokenizer(PreTrainedTokenizer):  # type: ignore[misc]
    """Cuts a text into words and marks, and frames it with the special tokens of the tokenizer it stands for."""

    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012  the base class declares it so

    def __init__(self, facts: TokenizerFacts) -> None:
        self.facts = facts
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

    @property
    def vocab_size(self) -> int:
        return self.facts.vocab_size

    def get_vocab(self) -> dict[str, int]:
        return dict(self.facts.special_tokens)

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """The text between the tokens that go before and after every text."""
        before = self.convert_tokens_to_ids(list(self.facts.prefix))
        after = self.convert_tokens_to_ids(list(self.facts.suffix))
        return [*before, *token_ids_0, *(token_ids_1 or []), *after]

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        return WORDS_AND_MARKS.findall(text)

    def _convert_token_to_id(self, token: str) -> int:
        """Any number that no special token has; what the numbers are changes no cost."""
        special = self.facts.special_tokens
        if token in special:
            return special[token]
        taken = set(special.values())
        number = zlib.crc32(token.encode()) % self.facts.vocab_size
        while number in taken:
            number = (number + 1) % self.facts.vocab_size
        return number

    def _convert_id_to_token(self, index: int) -> str:
        return next((token for token, number in self.facts.special_tokens.items() if number == index), f"<{index}>")

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        return "".join(tokens)

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        return ()


WORDS_AND_MARKS = re.compile(r" ?[^\W\d_]+| ?\d| ?[^\w\s]+|_+|\s+(?!\S)|\s")


def _facts(blueprint: Blueprint, plan: PartPlan) -> TokenizerFacts:
    """What the tokenizer's small files say, and for the rest what tokenizers of its class do."""
    family = next((facts for name, facts in FAMILIES.items() if name in plan.class_name), TokenizerFacts(512, 32000))
    config = dict(plan.config)
    tokens = dict(family.special_tokens)
    for number, token in dict(config.get("added_tokens_decoder") or {}).items():
        if isinstance(token, Mapping):
            tokens[str(token.get("content"))] = int(number)
    if plan.folder is not None and (plan.folder / "special_tokens_map.json").is_file():
        config = {**read_json(plan.folder / "special_tokens_map.json"), **config}
    roles = dict(family.roles)
    for role in ("bos_token", "eos_token", "pad_token", "unk_token"):
        token = config.get(role)
        token = token.get("content") if isinstance(token, Mapping) else token
        if isinstance(token, str):
            roles[role] = token
            tokens.setdefault(token, _unused_number(tokens.values(), family.vocab_size))
    length = config.get("model_max_length", family.model_max_length)
    return TokenizerFacts(
        model_max_length=int(min(length, 10**15)) if isinstance(length, (int, float)) else family.model_max_length,
        vocab_size=_vocabulary_of_encoder(blueprint, plan) or family.vocab_size,
        prefix=_frame(family.prefix, roles, config.get("add_bos_token"), "bos_token"),
        suffix=_frame(family.suffix, roles, config.get("add_eos_token"), "eos_token"),
        padding_side=str(config.get("padding_side", family.padding_side)),
        special_tokens=tokens,
        roles=roles,
        chat_template=config.get("chat_template") if isinstance(config.get("chat_template"), str) else None,
    )


def _frame(usual: Sequence[str], roles: Mapping[str, str], setting: Any, role: str) -> tuple[str, ...]:
    """Special tokens around a text: as the class does, unless the tokenizer's config says otherwise."""
    if setting is False:
        return ()
    if setting is True or usual == (role,):
        return (roles[role],) if role in roles else ()
    return tuple(usual)


def _unused_number(taken: Any, vocabulary: int) -> int:
    numbers = set(taken)
    return next(number for number in range(vocabulary + len(numbers) + 1) if number not in numbers)


def _vocabulary_of_encoder(blueprint: Blueprint, plan: PartPlan) -> int | None:
    encoder = blueprint.parts.get(plan.slot.replace("tokenizer", "text_encoder"))
    size = encoder.config.get("vocab_size") if encoder else None
    return size if isinstance(size, int) else None


FAMILIES = {
    "CLIP": TokenizerFacts(
        77, 49408, ("bos_token",), ("eos_token",),
        special_tokens={"<|startoftext|>": 49406, "<|endoftext|>": 49407},
        roles={"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
               "unk_token": "<|endoftext|>"},
    ),
    "T5": TokenizerFacts(
        512, 32128, (), ("eos_token",), special_tokens={"<pad>": 0, "</s>": 1, "<unk>": 2},
        roles={"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
    ),
    "Gemma": TokenizerFacts(
        10**15, 256000, ("bos_token",), (), special_tokens={"<pad>": 0, "<eos>": 1, "<bos>": 2, "<unk>": 3},
        roles={"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>", "unk_token": "<unk>"},
    ),
    "Llama": TokenizerFacts(
        10**15, 128320, ("bos_token",), (),
        special_tokens={"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001, "<|start_header_id|>": 128006,
                        "<|end_header_id|>": 128007, "<|eot_id|>": 128009, "<pad>": 128258},
        roles={"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "pad_token": "<pad>"},
    ),
    "Qwen2": TokenizerFacts(
        131072, 151936, (), (),
        special_tokens={"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645},
        roles={"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"},
    ),
    "Bert": TokenizerFacts(
        77, 47020, ("[CLS]",), ("[SEP]",), special_tokens={"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102},
        roles={"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    ),
    "PreTrainedTokenizer": TokenizerFacts(
        128000, 151552, ("[gMASK]", "<sop>"), (),
        special_tokens={"<|endoftext|>": 151329, "[gMASK]": 151331, "<sop>": 151333},
        roles={"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}, padding_side="left",
    ),
}  # fmt: skip
"""What tokenizers of a class do when the small files of a folder do not say: by a part of the class name."""
