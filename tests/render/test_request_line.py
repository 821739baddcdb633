"""A request in a line."""

from __future__ import annotations

import pytest

from diffprof.record.execution import Execution
from diffprof.record.recorded_request import RecordedRequest
from diffprof.record.sizes import ComputedSize
from diffprof.record.texts import EncodedText
from diffprof.render.request_line import request_line, size_words, step_words, token_words

REQUEST = RecordedRequest("wan", "catalogue", "WanPipeline", {"num_frames": 81, "height": 480, "width": 832})


def text(encoder: str, tokens: tuple[int, ...], length: int) -> EncodedText:
    return EncodedText(encoder, None, tokens, length)


def test_a_line_has_the_model_the_size_the_steps_and_the_dtype() -> None:
    line = request_line(REQUEST, Execution((50,), "bfloat16"))
    assert line == "wan · 832 wide x 480 high, 81 frames · 50 steps · bfloat16"


def test_steps_of_several_loops_and_another_size_are_said() -> None:
    execution = Execution((20, 10), computed_size=ComputedSize(1024, 1024, 832, 480))
    assert step_words(REQUEST, execution) == "20 + 10 steps"
    assert size_words(REQUEST, execution) == "832 wide x 480 high (computed at 1024 x 1024), 81 frames"


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ((), ""),
        ((text("clip", (7,), 77), text("t5", (6,), 512)), "7 prompt tokens, padded to 77, 512"),
        # What comes second of an encoder is the negative prompt.
        ((text("qwen", (44,), 44), text("qwen", (50,), 50)), "44 prompt tokens"),
        ((text("clip", (3, 9), 77),), "9 prompt tokens, padded to 77"),
    ],
)
def test_the_prompt_has_the_tokens_of_the_longest(texts: tuple[EncodedText, ...], words: str) -> None:
    assert token_words(Execution(texts=texts)) == words
