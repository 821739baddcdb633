"""Names out of a trace are short and safe to print."""

from __future__ import annotations

import pytest

from diffprof.traces.facts import CAUSES as ALL_CAUSES
from diffprof.traces.facts import AlternativeReason, FusedAlternative
from diffprof.traces.views.names import CAUSES, alternative_name, short, short_path


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("void at::native::vectorized_gather_kernel<16, long>(char*)", "vectorized_gather_kernel<16, long>(char*)"),
        ("## Call CompiledFxGraph fp5r5pk7bndvtfxhvsvz ##", "CompiledFxGraph fp5r5p"),
        ("/usr/lib/diffusers/models/unet.py(12): forward", "models/unet.py(12): forward"),
        ("evil\x1b[31m\nname", "evil\N{REPLACEMENT CHARACTER}[31m name"),
    ],
)
def test_a_name_is_short_and_without_control_characters(name: str, shown: str) -> None:
    assert short(name) == shown


def test_the_digest_of_a_compiled_file_is_cut() -> None:
    assert short_path(f"/tmp/ov/{'c' * 52}.py(3): call") == "ov/cccccccc....py(3): call"


def test_every_cause_and_every_reason_has_words() -> None:
    assert set(CAUSES) == set(ALL_CAUSES)
    assert all(alternative_name(FusedAlternative("flash", reason, 60)) for reason in AlternativeReason)
    assert alternative_name(None) == ""
