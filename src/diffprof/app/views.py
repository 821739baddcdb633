"""Profiles and progress as HTML, from the same tables and sentences as the report."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.app.background import Failed
from diffprof.breakdown.memory_peaks import memory_moments, memory_table
from diffprof.comparison import Comparison
from diffprof.comparison.views.cards import comparison_cards
from diffprof.comparison.views.sentences import comparability, lead_lines, warning_lines
from diffprof.comparison.views.tables import CONDITIONS, change_blocks, headlines, image_blocks, title
from diffprof.record.measured import Measured
from diffprof.record.profile import Profile
from diffprof.record.progress import ProgressEvent
from diffprof.render import numbers
from diffprof.render.blocks import Block
from diffprof.render.columns import Column
from diffprof.render.headline import headline, size_changes, summary
from diffprof.render.progress import progress_message
from diffprof.render.report.finding_list import findings_list
from diffprof.render.report.html_table import html_table, profile_html_table
from diffprof.render.report.lead import cards, lead
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import details, labelled_list, paragraph
from diffprof.render.run_sentences import speed_lines
from diffprof.render.run_tables import component_columns, memory_columns, peak_columns, section_columns, step_columns
from diffprof.render.table_names import ProfileTable

NOTHING = Markup()


def result(*parts: str) -> Markup:
    """Wrap parts of the page in the element that our styles apply to."""
    return element("div", *parts, class_="diffprof")


def error_notice(message: str) -> Markup:
    """An error message."""
    return result(element("p", *with_code(message), class_="problem", role="alert"))


def notice(message: str) -> Markup:
    """An informational message."""
    return result(element("p", *with_code(message), class_="notice", role="status")) if message else NOTHING


def with_code(message: str) -> list[str]:
    """Split a message at its backticks, and mark up the commands between them as code."""
    parts = message.split("`")
    if len(parts) % 2 == 0:
        return [message]  # an unpaired backtick is part of a name
    return [element("code", part) if place % 2 else part for place, part in enumerate(parts)]


def status_view(status: ProgressEvent | Failed, step_seconds: Sequence[float] = ()) -> Markup:
    """Progress or an error, shown in place of a result."""
    return error_notice(status.message) if isinstance(status, Failed) else progress_view(status, step_seconds)


def progress_view(event: ProgressEvent, step_seconds: Sequence[float] = ()) -> Markup:
    """A progress message, with a bar if the total is known, and the times of the steps so far."""
    message = progress_message(event)
    bar = element(
        "progress",
        max=str(event.total) if event.total else None,
        value=str(event.done or 0) if event.total else None,
        aria_label=message,
    )
    times = Markup()
    if step_seconds:
        line = numbers.sparkline(step_seconds, 60)
        last = f"last step {numbers.seconds(step_seconds[-1])}, all {numbers.seconds(sum(step_seconds))}"
        times = element("p", f"{last}  {line}", class_="steps")
    return result(element("p", message, class_="notice", role="status"), bar, times)


def totals_view(profile: Profile) -> Markup:
    """The total cost of a generation: a sentence, and cards with numbers."""
    changed = [paragraph(line, "changed") for line in size_changes(profile)]
    return result(element("h2", headline(profile)), paragraph(lead(profile), "lead"), *changed, cards(profile))


def count_tables(profile: Profile) -> Markup:
    """Components, kinds of work, attention, and the assumptions of the count."""
    lines = summary(profile, verbose=True)
    return result(
        element("h3", "Components"),
        profile_html_table(profile, ProfileTable.component, total=True),
        details("Kinds of work as a table", profile_html_table(profile, ProfileTable.kind)),
        details("All attention layers", profile_html_table(profile, ProfileTable.attention)),
        details("Calls of the components", profile_html_table(profile, ProfileTable.call)),
        details("What was counted, and what was assumed", labelled_list(lines)),
    )


def time_tables(profile: Profile, measured: Measured) -> Markup:
    """Where the time and the memory of a measured run went."""
    moments = memory_moments(profile)
    last = [moment for moment in moments if moment.iteration == moments[-1].iteration]
    steps = step_columns(profile, False, with_bars=False)
    return result(
        labelled_list(speed_lines(profile, measured)),
        element("h3", "Time"),
        html_table(section_columns(profile, False), total=True),
        details("Components", html_table(component_columns(profile, False), total=True)),
        details("Steps", html_table(steps)),
        element("h3", "Memory"),
        html_table(peak_columns(memory_table(profile))),
        details("Moments", html_table(memory_columns(last)) if last else NOTHING),
    )


def findings_view(profile: Profile) -> Markup:
    """The findings, each with its evidence and advice."""
    return result(element("h3", "Findings"), findings_list(profile))


def comparison_answer(comparison: Comparison) -> Markup:
    """The summary above the charts: what was compared, and a sentence for each difference."""
    return result(
        element("h2", title(comparison)),
        *(paragraph(line, "lead") for line in lead_lines(comparison, brief=True)),
        element("ul", *(element("li", line) for line in headlines(comparison)), class_="plain"),
        comparison_cards(comparison),
        *(paragraph(line, "changed") for line in warning_lines(comparison.names, comparison.profiles)),
    )


def comparison_view(comparison: Comparison, notes: Sequence[str] = ()) -> Markup:
    """The tables below the charts: conditions first, then counts, then measurements."""
    parts = []
    for block in [Block(CONDITIONS, comparability(comparison)), *change_blocks(comparison), *image_blocks(comparison)]:
        lines, after = ([paragraph(line) for line in some] for some in (block.lines, block.after))
        content = [*lines, html_table(block.columns), *after]
        heading = element("h3", block.title) if block.title else NOTHING
        parts += [details(block.title, *content)] if block.folded else [heading, *content]
    return result(*parts, *(paragraph(note, "changed") for note in notes))


def run_table(runs: Sequence[Column], otherwise: str, keys: Sequence[str] = ()) -> Markup:
    """A table of runs whose rows can be clicked, or a sentence if there are none."""
    return result(html_table(runs, keys=keys) or element("p", *with_code(otherwise), class_="notice"))
