"""What an entry of the catalogue says of itself, and that every entry is complete."""

from __future__ import annotations

import pytest

from diffprof import catalogue

ENTRIES = catalogue.entries()


NAMES = [entry.name for entry in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_model_has_a_denoiser_a_scheduler_and_sources(entry: catalogue.Entry) -> None:
    assert entry.denoiser is not None
    assert entry.denoiser.parameters
    assert any("scheduler" in slot for slot in entry.components)
    assert entry.source
    assert all(part.source for part in entry.components.values())


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_tokenizer_has_the_facts_that_a_stand_in_needs(entry: catalogue.Entry) -> None:
    for part in entry.components.values():
        if part.class_name.endswith(("Tokenizer", "TokenizerFast")) and part.parameters is None:
            assert part.tokenizer is not None
            assert part.tokenizer.model_max_length > 0
            tokens = {*part.tokenizer.prefix, *part.tokenizer.suffix, *part.tokenizer.roles.values()}
            assert tokens <= set(part.tokenizer.special_tokens)


def test_the_denoiser_of_a_pipeline_is_not_its_autoencoder() -> None:
    entry = catalogue.find("sd-2.1-base")
    assert entry is not None
    assert entry.denoiser is entry.components["unet"]
    assert entry.denoiser.parameters == 865_910_724
