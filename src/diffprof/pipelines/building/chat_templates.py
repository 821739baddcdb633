"""Chat templates of language models that are used as text encoders, for tokenizers without one.

Each adds the special tokens and line breaks of its family, which affect the length of a prompt.
"""

from __future__ import annotations

_CONTENT = (
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if 'image' in part or part['type'] in ('image', 'image_url') %}@IMAGE@"
    "{% elif 'video' in part or part['type'] == 'video' %}@VIDEO@"
    "{% elif 'text' in part %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
)


def _template(before: str, message: str, after: str, image: str = "", video: str = "") -> str:
    content = _CONTENT.replace("@IMAGE@", image).replace("@VIDEO@", video)
    return f"{before}{{% for message in messages %}}{message.replace('@CONTENT@', content)}{{% endfor %}}{after}"


def _chat_ml(system: str | None, vision: bool, closed_thinking: str = "") -> str:
    """``<|im_start|>role ... <|im_end|>``, starting with a system message if the family has one."""
    first = f"<|im_start|>system\n{system}<|im_end|>\n"
    before = "{% if messages[0]['role'] != 'system' %}" + first + "{% endif %}" if system else ""
    message = "<|im_start|>{{ message['role'] }}\n@CONTENT@<|im_end|>\n"
    thinking = "{% if enable_thinking is defined and not enable_thinking %}" + closed_thinking + "{% endif %}"
    after = (
        "{% if add_generation_prompt %}<|im_start|>assistant\n" + (thinking if closed_thinking else "") + "{% endif %}"
    )
    image = "<|vision_start|><|image_pad|><|vision_end|>" if vision else ""
    video = "<|vision_start|><|video_pad|><|vision_end|>" if vision else ""
    return _template(before, message, after, image, video)


QWEN_2_5 = _chat_ml("You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", vision=False)
QWEN_2_VL = _chat_ml("You are a helpful assistant.", vision=True)
QWEN_3 = _chat_ml(None, vision=False, closed_thinking="<think>\n\n</think>\n\n")
QWEN_3_VL = _chat_ml(None, vision=True)
LLAMA_3 = _template(
    "{{ bos_token }}",
    "<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n@CONTENT@<|eot_id|>",
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
)
GEMMA = _template(
    "{{ bos_token }}",
    "<start_of_turn>{{ 'model' if message['role'] == 'assistant' else message['role'] }}\n@CONTENT@<end_of_turn>\n",
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    image="<start_of_image>",
)
MISTRAL = _template(
    "{{ bos_token }}",
    "{% if message['role'] == 'system' %}[SYSTEM_PROMPT]@CONTENT@[/SYSTEM_PROMPT]"
    "{% elif message['role'] == 'user' %}[INST]@CONTENT@[/INST]{% else %}@CONTENT@{{ eos_token }}{% endif %}",
    "",
    image="[IMG]",
)
GLM = _template(
    "[gMASK]<sop>",
    "<|{{ message['role'] }}|>\n@CONTENT@",
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}",
    image="<|begin_of_image|><|image|><|end_of_image|>",
)
PLAIN = _template("", "{{ message['role'] }}: @CONTENT@\n", "{% if add_generation_prompt %}assistant: {% endif %}")
"""The template for an unknown family."""
