"""The settings in effect as a table, JSON, CSV and Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.columns import Column
from diffprof.render.csv import table_csv
from diffprof.settings import Setting

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("key", "value", "source", "variable", "about")
NOT_SET = "-"


def print_settings(settings: Mapping[str, Setting], files: Sequence[Path], console: Console) -> None:
    """Print the settings in effect, where each comes from, and the files that were read."""
    print_blocks([settings_block(settings, files)], console)


def settings_markdown(settings: Mapping[str, Setting], files: Sequence[Path]) -> str:
    """The settings in effect as Markdown, for an issue."""
    return markdown([settings_block(settings, files)])


def settings_block(settings: Mapping[str, Setting], files: Sequence[Path]) -> Block:
    """A row for each setting."""
    found = list(settings.values())
    columns = [
        Column("setting", [one.option.key for one in found], justify="left", style="bold"),
        Column("value", [_text(one.value) for one in found], justify="left", least=16),
        Column("from", [one.source for one in found], justify="left", least=34, style="cyan"),
        Column("description", [one.option.about for one in found], rank=1, justify="left", least=24, style="dim"),
    ]
    read = ", ".join(str(file) for file in files)
    return Block(columns=columns, after=[f"Read: {read}" if read else "No file was read; diffprof.toml here would be."])


def settings_json(settings: Mapping[str, Setting], files: Sequence[Path]) -> str:
    """The settings as JSON."""
    values = {one.option.key: {"value": _plain_value(one.value), **_setting_row(one)} for one in settings.values()}
    return json.dumps({"files": [str(file) for file in files], "settings": values}, indent=2) + "\n"


def settings_csv(settings: Mapping[str, Setting]) -> str:
    """The settings as CSV."""
    return table_csv(
        COLUMNS,
        [{"key": one.option.key, "value": _text(one.value, ""), **_setting_row(one)} for one in settings.values()],
    )


def _setting_row(setting: Setting) -> dict[str, str]:
    return {"source": setting.source, "variable": setting.option.variable, "about": setting.option.about}


def _text(value: Any, not_set: str = NOT_SET) -> str:
    if value is None or value == ():
        return not_set
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {width}x{height}" for name, (width, height) in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: list(pair) for name, pair in value.items()}
    if isinstance(value, tuple):
        return [str(one) for one in value]
    return str(value) if isinstance(value, Path) else value
