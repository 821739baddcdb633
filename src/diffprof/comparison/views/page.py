"""The HTML page of a comparison: conditions that differ, then charts, then all tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from diffprof.comparison.compare import Comparison
from diffprof.comparison.conditions import DEFAULT, Condition
from diffprof.comparison.curves import Curve, Growth
from diffprof.comparison.views import charts
from diffprof.comparison.views.cards import comparison_cards
from diffprof.comparison.views.curves import curves_chart
from diffprof.comparison.views.sentences import (
    comparability,
    describe_image_difference,
    image_names,
    lead_lines,
    value_text,
    warning_lines,
)
from diffprof.comparison.views.tables import CONDITIONS, IMAGES, change_blocks, headlines, title
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.blocks import Block
from diffprof.render.charts import Measure, components_chart
from diffprof.render.charts.components import MAX_BLOCKS
from diffprof.render.columns import Column
from diffprof.render.headline import summary
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.report.page import Page, details, labelled_list, paragraph
from diffprof.render.report.pictures import embedded_image
from diffprof.render.report.request import environment_html, request_html

TOP = 25
LINKS = {"What was counted, and what was assumed": "Trust", "Request and environment": "Request"}


def comparison_html(comparison: Comparison) -> str:
    """The whole page, with the images that were compared."""
    page = Page(title(comparison))
    _conditions(page, comparison)
    _charts(page, comparison)
    _growth(page, comparison.growth)
    _images(page, comparison)
    _add(page, change_blocks(comparison, TOP))
    _trust_section(page, comparison)
    header = [
        paragraph("diffprof comparison", "made-by"),
        element("h1", title(comparison)),
        *(paragraph(line, "lead") for line in lead_lines(comparison, brief=True)),
        element("ul", *(element("li", line) for line in headlines(comparison)), class_="plain about"),
        comparison_cards(comparison),
        *(paragraph(line, "warning") for line in warning_lines(comparison.names, comparison.profiles)),
    ]
    made_by = comparison.profiles[-1].environment.diffprof
    return page.html(header, f"Made with diffprof {made_by}. 1 MAC = 2 FLOPs.")


def _conditions(page: Page, comparison: Comparison) -> None:
    """Add a table of the conditions that differ, and whether the profiles can be compared."""
    asked = [row for row in comparison.conditions if row.group != DEFAULT]
    defaults = [row for row in comparison.conditions if row.group == DEFAULT]
    page.add(
        CONDITIONS,
        paragraph(comparability(comparison)[0]),
        _condition_table(asked, comparison.names),
        # Folded, because two pipelines can differ in dozens of defaults.
        details(
            f"{numbers.times(len(defaults), 'default')} of the pipeline",
            _condition_table(defaults, comparison.names),
        )
        if defaults
        else Markup(),
        link="What differs",
    )


def _condition_table(rows: Sequence[Condition], names: Sequence[str]) -> Markup:
    columns = [
        Column("what differs", [f"{row.name}\n{row.group}" for row in rows], justify="left"),
        *(
            Column(name, [value_text(row.values[number]) for row in rows], justify="left")
            for number, name in enumerate(names)
        ),
    ]
    return html_table(columns) if rows else Markup()


def _add(page: Page, blocks: Sequence[Block]) -> None:
    for block in blocks:
        lines = element("ul", *(element("li", line) for line in block.lines), class_="plain")
        page.add(
            block.title,
            lines if block.lines else Markup(),
            html_table(block.columns),
            *(paragraph(line, "note") for line in block.after),
        )


def _charts(page: Page, comparison: Comparison) -> None:
    both = (comparison.profiles, comparison.names)
    page.add(
        "Side by side",
        page.tabs(
            "What is compared",
            {
                "time": page.chart(charts.component_times_chart(*both), "Time of each profile by component"),
                "MACs": page.chart(charts.components_chart(*both), "MACs of each profile by component"),
                "shares of MACs": page.chart(
                    charts.components_chart(*both, shares_of_each=True), "Share of each component"
                ),
                "parameters": page.chart(charts.parameters_chart(*both), "Parameters of each profile by component"),
            },
        ),
    )
    page.add("Time and its spread", page.chart(charts.times_chart(*both), "Time of every iteration"))
    page.add(
        "Cost against parameters",
        page.chart(charts.cost_chart(*both), "MACs over parameters of each profile"),
    )
    named = zip(comparison.names, comparison.profiles, strict=True)
    # All profiles share the maximum number of blocks of one profile, which keeps the page small.
    most = MAX_BLOCKS // len(comparison.profiles)
    colours = charts.colours_in_comparison(comparison.profiles)
    panels = {
        f"{number}. {name}": _icicle(page, profile, most, colours) for number, (name, profile) in enumerate(named, 1)
    }
    page.add("Where the cost goes", page.tabs("Which profile is shown", panels), link="Where it goes")


def _growth(page: Page, growth: Growth | None) -> None:
    if growth is None:
        return
    panels = {
        "size": _curves(page, growth.sizes, "pixels of the image"),
        "steps": _curves(page, growth.steps, "denoising steps"),
    }
    if any(panels.values()):
        page.add(
            "How the cost grows",
            page.tabs("What grows", panels),
            paragraph("Each point was counted: one for a saved profile, several for a model.", "note"),
            *(paragraph(note, "note") for note in growth.notes),
            link="Growth",
        )


def _curves(page: Page, curves: Sequence[Curve], over: str) -> Markup:
    """A chart of the curves; empty if all points have the same position."""
    if len({place for curve in curves for place in curve.places}) < 2:
        return Markup()
    return page.chart(curves_chart(curves, over), f"MACs over the {over}")


def _icicle(page: Page, profile: Profile, most: int, colours: Mapping[str, str]) -> Markup:
    """The components by time, if it was measured, and by MACs."""
    by_time = page.chart(components_chart(profile, Measure.time, most, colours), "Sections by time")
    by_macs = page.chart(components_chart(profile, Measure.macs, most, colours), "Components and modules by MACs")
    return page.tabs("What the size of a block is", {"by time": by_time, "by MACs": by_macs})


def _images(page: Page, comparison: Comparison) -> None:
    shown = []
    for difference in comparison.images:
        files = zip(image_names(difference), (difference.before, difference.after), strict=True)
        both = [embedded_image(name, Path(path)) for name, path in files]
        shown.append(join(paragraph(describe_image_difference(difference)), element("div", *both, class_="pictures")))
    page.add(IMAGES, *shown)


def _trust_section(page: Page, comparison: Comparison) -> None:
    for heading, of in (
        ("What was counted, and what was assumed", _assumptions),
        ("Request and environment", _request),
    ):
        named = zip(comparison.names, comparison.profiles, strict=True)
        page.add(heading, *(details(name, of(profile)) for name, profile in named), link=LINKS[heading])


def _assumptions(profile: Profile) -> Markup:
    return labelled_list(summary(profile, verbose=True))


def _request(profile: Profile) -> Markup:
    return join(request_html(profile), environment_html(profile))
