"""What the tests of the engine share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.cli.conftest import run
from tests.pipelines.conftest import model, saved_once

__all__ = ["model", "run", "saved_once"]


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    """Tensors are tiny here: several threads take longer than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
