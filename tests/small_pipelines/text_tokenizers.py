"""Real tokenizers with tiny vocabularies: every character (or byte) of a prompt is one token."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from transformers import PreTrainedTokenizerFast

# Room for every vocabulary below; the text encoders all use it.
VOCABULARY_SIZE = 640

CHARACTERS = tuple(character for character in string.printable if not character.isspace())

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def shorten_texts(pipeline: Any) -> None:
    """Pad the texts of Hunyuan's pipelines to 40 tokens; their own 1,000 take most of the time of a call."""
    pipeline.tokenizer_max_length = 40


def clip_tokenizer() -> PreTrainedTokenizerFast:
    """Start and end tokens around the text, padded with end tokens to 77."""
    from transformers import CLIPTokenizer

    alphabet = _byte_alphabet()
    word_endings = [f"{symbol}</w>" for symbol in alphabet]
    vocabulary = _numbered(["<|startoftext|>", "<|endoftext|>", *alphabet, *word_endings])
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def roberta_tokenizer() -> PreTrainedTokenizerFast:
    """Start and end tokens around the text, padded to the right."""
    from transformers import RobertaTokenizer

    vocabulary = _numbered(["<s>", "<pad>", "</s>", "<unk>", "<mask>", *_byte_alphabet()])
    return RobertaTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def t5_tokenizer(**settings: Any) -> PreTrainedTokenizerFast:
    """An end token after the text, padded to the right."""
    from transformers import T5TokenizerFast

    special_tokens = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    characters = [(character, -3.0) for character in CHARACTERS]
    return T5TokenizerFast(vocab=special_tokens + characters, extra_ids=0, **settings)


def gemma_tokenizer(**settings: Any) -> PreTrainedTokenizerFast:
    """A start token before the text."""
    from transformers import GemmaTokenizer

    vocabulary = _numbered(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", "\n", *CHARACTERS])
    return GemmaTokenizer(
        vocab=vocabulary,
        merges=[],
        add_bos_token=True,
        chat_template=CHAT_TEMPLATE,
        **settings,
    )


def llama_tokenizer() -> PreTrainedTokenizerFast:
    """A start token before the text, and the end token for padding."""
    from transformers import LlamaTokenizerFast

    return LlamaTokenizerFast(
        vocab=_numbered(["<unk>", "<s>", "</s>", "▁", "\n", *CHARACTERS]),
        merges=[],
        add_bos_token=True,
        pad_token="</s>",
        padding_side="right",
        model_max_length=4096,
        chat_template=CHAT_TEMPLATE,
    )


def bert_tokenizer() -> PreTrainedTokenizerFast:
    """A class token before the text and a separator after it, padded to the right."""
    from transformers import BertTokenizer

    word_pieces = [f"##{character}" for character in CHARACTERS]
    special_tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return BertTokenizer(vocab=_numbered([*special_tokens, *CHARACTERS, *word_pieces]), model_max_length=77)


QWEN_SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)


def qwen_tokenizer() -> PreTrainedTokenizerFast:
    """Bytes and the special tokens that chat templates use, with a chat template of its own."""
    from transformers import Qwen2Tokenizer

    return Qwen2Tokenizer(
        vocab=_numbered([*QWEN_SPECIAL_TOKENS, *_byte_alphabet()]),
        merges=[],
        additional_special_tokens=list(QWEN_SPECIAL_TOKENS[1:]),
        chat_template=CHAT_TEMPLATE,
    )


def qwen_token_id(token: str) -> int:
    return QWEN_SPECIAL_TOKENS.index(token)


def _byte_alphabet() -> list[str]:
    from tokenizers.pre_tokenizers import ByteLevel

    return sorted(ByteLevel.alphabet())


def _numbered(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}
