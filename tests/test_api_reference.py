"""docs/api.md has every public name, with what its docstring says."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import diffprof

DOCS = Path(__file__).parents[1] / "docs"


def headings(text: str) -> list[str]:
    return re.findall(r"^### `(\w+)`$", text, re.M)


def test_the_reference_has_every_public_name_in_the_order_that_is_written_now() -> None:
    written = runpy.run_path(str(DOCS / "hooks" / "api_reference.py"))["reference"]()
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    assert headings(page) == headings(written), "write it again with `python docs/hooks/api_reference.py`"
    assert set(headings(page)) == {name for name in diffprof.__all__ if not name.startswith("__")}
    assert "Profile one call of a pipeline" in page


def test_every_public_name_exists_and_is_explained() -> None:
    assert set(diffprof.__all__) == {name for name in dir(diffprof) if not name.startswith("__")} | {"__version__"}
    assert [name for name in diffprof.__all__ if not inspect.getdoc(getattr(diffprof, name))] == []
