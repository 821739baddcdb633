"""Values of options that several commands have."""

from __future__ import annotations

import pytest

from diffprof.cli.options.declarations import accelerator_names
from diffprof.errors import RequestError


def test_accelerators_are_given_with_commas() -> None:
    assert accelerator_names("l4, h100-sxm") == ("l4", "h100-sxm")
    assert accelerator_names(None) == ()


@pytest.mark.parametrize("text", [",", "l4,", "l4,,t4", " "])
def test_a_name_that_is_missing_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="--gpu takes names separated by commas"):
        accelerator_names(text)
