"""What each family puts around its messages."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Environment

from diffprof.pipelines.building import chat_templates

USER: list[dict[str, Any]] = [{"role": "user", "content": "a cat"}]
PICTURE = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "a cat"}]}]


def rendered(template: str, messages: list[dict[str, Any]], **options: Any) -> str:
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    return Environment().from_string(template).render(messages=messages, **tokens, **options)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (chat_templates.QWEN_3, "<|im_start|>user\na cat<|im_end|>\n"),
        (chat_templates.LLAMA_3, "<s><|start_header_id|>user<|end_header_id|>\n\na cat<|eot_id|>"),
        (chat_templates.GEMMA, "<s><start_of_turn>user\na cat<end_of_turn>\n"),
        (chat_templates.MISTRAL, "<s>[INST]a cat[/INST]"),
        (chat_templates.GLM, "[gMASK]<sop><|user|>\na cat"),
        (chat_templates.PLAIN, "user: a cat\n"),
    ],
)
def test_a_message_has_the_tokens_of_its_family(template: str, text: str) -> None:
    assert rendered(template, USER) == text


def test_qwen_puts_its_own_system_message_first_unless_there_is_one() -> None:
    assert rendered(chat_templates.QWEN_2_VL, USER).startswith("<|im_start|>system\nYou are a helpful assistant.")
    own = [{"role": "system", "content": "be brief"}, *USER]
    assert rendered(chat_templates.QWEN_2_VL, own).count("<|im_start|>system") == 1


def test_thinking_is_closed_where_it_is_switched_off() -> None:
    asked = rendered(chat_templates.QWEN_3, USER, add_generation_prompt=True)
    assert asked.endswith("<|im_start|>assistant\n")
    closed = rendered(chat_templates.QWEN_3, USER, add_generation_prompt=True, enable_thinking=False)
    assert closed.endswith("<think>\n\n</think>\n\n")


def test_an_image_has_its_place() -> None:
    assert "<|vision_start|><|image_pad|><|vision_end|>a cat" in rendered(chat_templates.QWEN_3_VL, PICTURE)
    assert "[INST][IMG]a cat[/INST]" in rendered(chat_templates.MISTRAL, PICTURE)
