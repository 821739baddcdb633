"""Options whose value is optional, which the parser has no notion of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand

from diffprof.record.changes import IP_ADAPTERS
from diffprof.record.preparation import COMPILE_WAYS

OPTIONAL_VALUES: Mapping[str, tuple[str, ...]] = {"--compile": COMPILE_WAYS, "--ip-adapter": IP_ADAPTERS}
"""By the option, the values that it can have; the first is meant where it stands alone."""


class OptionalValueCommand(TyperCommand):
    """A command some of whose options may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        complete = []
        for place, argument in enumerate(args):
            complete.append(argument)
            values = OPTIONAL_VALUES.get(argument)
            following = (args[place + 1 : place + 2] or [""])[0]
            if values is not None and self._knows(argument) and following not in values:
                complete.append(values[0])
        return super().parse_args(ctx, complete)

    def _knows(self, option: str) -> bool:
        """Whether the command has the option, and with a value."""
        return any(option in part.opts and not getattr(part, "is_flag", False) for part in self.params)
