"""Writes docs/api.md from the docstrings: ``make docs`` runs it, and so does ``python docs/hooks/api_reference.py``."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import Any

import diffprof

PAGE = Path(__file__).parents[1] / "api.md"
INTRODUCTION = """# Python reference

Everything that `import diffprof` gives, from its docstrings. A name is imported when it is first used: reading a saved
profile needs no torch. Records print as the commands show them, and show themselves as tables in a notebook.
"""


def reference() -> str:
    """The page."""
    names = [name for name in diffprof.__all__ if not name.startswith("__")]
    functions = [name for name in names if not inspect.isclass(getattr(diffprof, name))]
    classes = [name for name in names if inspect.isclass(getattr(diffprof, name))]
    return "\n".join(
        [INTRODUCTION, "## Functions", "", *map(_function, functions), "## Classes", "", *map(_class, classes)]
    )


def _function(name: str) -> str:
    function = getattr(diffprof, name)
    return f"### `{name}`\n\n{_signature(f'diffprof.{name}', function)}\n{_text(function)}\n"


def _class(name: str) -> str:
    kind = getattr(diffprof, name)
    members = [_member(member, value) for member, value in _public(kind)]
    listed = "\n".join(["| | |", "|---|---|", *members]) + "\n" if members else ""
    return f"### `{name}`\n\n{_text(kind)}\n\n{listed}"


def _public(kind: type) -> list[tuple[str, Any]]:
    bases = [base for base in reversed(kind.__mro__) if base.__module__.startswith("diffprof")]
    own = [(name, value) for base in bases for name, value in vars(base).items()]
    return [(name, value) for name, value in dict(own).items() if not name.startswith("_") and inspect.getdoc(value)]


def _member(name: str, value: Any) -> str:
    first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    if isinstance(value, property):
        return f"| `{name}` | {first} |"
    function = getattr(value, "__func__", value)
    if not callable(function):
        return f"| `{name}` | |"
    return f"| `{name}({', '.join(list(inspect.signature(function).parameters)[1:])})` | {first} |"


def _signature(name: str, function: Any) -> str:
    # The annotations are texts: without quotes they read as in the source.
    parameters = [
        str(one).replace(repr(one.annotation), str(one.annotation))
        for one in inspect.signature(function).parameters.values()
    ]
    inside = "".join(f"    {one},\n" for one in parameters)
    return f"```text\n{name}(\n{inside})\n```\n"


def _text(subject: Any) -> str:
    """The docstring, with its own examples as code."""
    return textwrap.dedent(inspect.getdoc(subject) or "").replace("``", "`").strip()


def on_pre_build(config: Any) -> None:
    """What mkdocs calls before it reads the pages."""
    text = reference()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    on_pre_build(None)
