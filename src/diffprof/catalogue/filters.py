"""Select models of the catalogue by word, family, task, year or licence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from diffprof.catalogue.entry import TASKS, Entry
from diffprof.catalogue.reader import entries, unknown_model_message
from diffprof.errors import RequestError


@dataclass(frozen=True)
class ModelFilter:
    """Conditions that a model must meet; a condition that is None is not checked."""

    word: str = ""
    """A word in one of its names, its title, media, pipeline or family."""
    family: str = ""
    task: str = ""
    year: int | None = None
    licence: str = ""
    """A part of the licence is enough."""

    @classmethod
    def parse(
        cls, word: str | None, *, family: str | None, task: str | None, year: str | None, licence: str | None
    ) -> ModelFilter:
        """Parse the values of the options; a `RequestError` for a value that no model can meet."""
        if task is not None and task.lower() not in TASKS:
            raise RequestError(f"There is no task {task!r}; {_suggestion(task, TASKS)}")
        if year is not None and not (year.isascii() and year.isdigit() and len(year) == 4):
            raise RequestError(f"--year must be a year such as 2025, not {year!r}.")
        return cls(
            word or "",
            (family or "").lower(),
            (task or "").lower(),
            int(year) if year else None,
            (licence or "").lower(),
        )

    def select(self, models: Iterable[Entry]) -> list[Entry]:
        """The models that meet all conditions; a `RequestError` if there are none."""
        found = [entry for entry in models if self.is_met_by(entry)]
        if not found:
            raise RequestError(self._reason())
        return found

    def is_met_by(self, entry: Entry) -> bool:
        """Whether a model meets all conditions."""
        texts = (*entry.names, entry.title, entry.media, entry.pipeline, entry.family)
        return (
            any(self.word.lower() in text.lower() for text in texts)
            and self.family in ("", entry.family.lower())
            and self.task in ("", entry.task)
            and self.year in (None, entry.year)
            and self.licence in entry.licence.lower()
        )

    def _reason(self) -> str:
        families = sorted({entry.family for entry in entries() if entry.family})
        if self.family and self.family not in families:
            return f"There is no family {self.family!r}; {_suggestion(self.family, families)}"
        if self.word and not (self.family or self.task or self.year or self.licence):
            return unknown_model_message(self.word)
        return "No model meets all these conditions; leave one out."


def _suggestion(typed: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(typed.lower(), names, n=2)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}."
