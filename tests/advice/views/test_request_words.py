"""What was asked for stands in every answer, in each of its forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.advice.views.advice_page import advice_html
from diffprof.advice.views.advice_views import advice_markdown, advice_text
from diffprof.advice.views.fit_page import fit_html
from diffprof.advice.views.fit_views import fit_markdown, fit_text
from diffprof.advice.views.prediction_console import prediction_markdown, prediction_text
from diffprof.advice.views.prediction_page import prediction_html
from diffprof.advice.views.request_words import Answer, heading, request_lines, run_lines
from diffprof.record.execution import Execution
from diffprof.record.recorded_request import RecordedRequest
from diffprof.record.run_settings import RunSettings
from diffprof.record.texts import EncodedText
from tests.advice.views.answers import ADVICE, FIT, PREDICTION

REQUEST = RecordedRequest(
    "sdxl", "catalogue", "StableDiffusionXLPipeline", {"height": 768, "width": 768, "guidance_scale": 5.0},
    {"num_inference_steps": 30}, enable=("vae_tiling",),
)  # fmt: skip
EXECUTION = Execution((30,), "float16", texts=(EncodedText("text_encoder", "tokenizer", (7,), 77),))
LINE = "768 x 768 · 30 steps · guidance 5 · float16 · vae_tiling on · 7 prompt tokens, padded to 77"

VIEWS = [
    (FIT, (fit_text, fit_markdown, fit_html)),
    (PREDICTION, (prediction_text, prediction_markdown, prediction_html)),
    (ADVICE, (advice_text, advice_markdown, advice_html)),
]


def asked(answer: Answer) -> Answer:
    return replace(answer, request=REQUEST, execution=EXECUTION)


@pytest.mark.parametrize(("answer", "views"), VIEWS)
def test_every_form_of_an_answer_says_what_was_asked_for(answer: Answer, views: tuple) -> None:  # type: ignore[type-arg]
    for view in views:
        assert LINE in view(asked(answer)).replace("\\", "")
        assert "768 x 768" not in view(answer)  # saved by an earlier version


@pytest.mark.parametrize("answer", [FIT, PREDICTION, ADVICE])
def test_an_answer_is_read_with_its_request(answer: Answer, tmp_path: Path) -> None:
    assert type(answer).load(asked(answer).save(tmp_path / "a.json")) == asked(answer)
    assert heading(answer) == "sdxl" and not request_lines(answer)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (RunSettings(), []),
        (RunSettings("group", False, 2), ["run with group offload without a stream, 2 blocks at a time"]),
        (RunSettings("model", False), ["run with model offload"]),
        (
            RunSettings(drop_text_encoders=True, without=("safety_checker",)),
            ["run with text encoders dropped after use, without safety_checker"],
        ),
        (RunSettings(without=("text_encoder_3",)), ["run without text_encoder_3"]),
        (RunSettings(layerwise={"unet": "fp8"}), ["run with layers of unet kept in fp8"]),
    ],
)
def test_settings_are_said_where_they_are_not_the_usual(settings: RunSettings, words: list[str]) -> None:
    assert run_lines(settings) == words
