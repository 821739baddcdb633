"""Options with an optional value, such as ``--compile [regional]``, which typer does not support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand

from diffprof.record.changes import IP_ADAPTERS
from diffprof.record.preparation import COMPILE_MODES

OPTIONAL_VALUES: Mapping[str, tuple[str, ...]] = {"--compile": COMPILE_MODES, "--ip-adapter": IP_ADAPTERS}
"""The values that each option accepts; the first is meant if the option has none."""


class OptionalValueCommand(TyperCommand):
    """A command that adds the default value to an option of `OPTIONAL_VALUES` that has none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        complete = []
        for place, argument in enumerate(args):
            complete.append(argument)
            values = OPTIONAL_VALUES.get(argument)
            following = (args[place + 1 : place + 2] or [""])[0]
            if values is not None and self._takes_value(argument) and following not in values:
                complete.append(values[0])
        return super().parse_args(ctx, complete)

    def _takes_value(self, option: str) -> bool:
        """Whether the command has the option, and it is not a flag."""
        return any(option in known.opts and not getattr(known, "is_flag", False) for known in self.params)
