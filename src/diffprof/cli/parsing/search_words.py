"""Commands that list what matches a word: ``diffprof models flux`` means ``diffprof models --match flux``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class SearchWordGroup(TyperGroup):
    """A group of commands that takes its first argument as ``--match`` if that is none of its commands."""

    options_with_values = ("--file", "--family", "--task", "--year", "--licence", "-o", "--output")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for place, word in enumerate(args):
            if word == "--match" or word in self.commands:
                break
            if not word.startswith("-") and (not place or args[place - 1] not in self.options_with_values):
                args = [*args[:place], "--match", *args[place:]]
                break
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or ctx.fail("Give one WORD to search for, or `show NAME`.")
