"""The report of several profiles: what differs between them first, then figures, then every table."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from diffprof.comparison import Comparison
from diffprof.comparison.curves import Curve, Growth
from diffprof.comparison.views import charts
from diffprof.comparison.views.curves import curves_figure
from diffprof.comparison.views.sentences import condition_text, may_be_compared, picture_line, picture_names, value_text
from diffprof.comparison.views.tables import blocks
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.blocks import Block
from diffprof.render.charts import Measure, components_chart
from diffprof.render.charts.components import MOST_BLOCKS
from diffprof.render.columns import Column
from diffprof.render.headline import summary
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.report.page import Page, details, labelled_list, paragraph
from diffprof.render.report.request import environment_html, request_html

TOP = 25
CONDITIONS = "May they be compared?"
_PICTURE_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def comparison_html(
    comparison: Comparison, pictures: Mapping[str, bytes] | None = None, growth: Growth | None = None
) -> str:
    """The whole page. `pictures` are the files that the comparison's picture differences name."""
    title, named, *found = blocks(comparison, TOP)
    page = Page(title.title)
    _conditions(page, comparison)
    _figures(page, comparison)
    _growth(page, growth)
    _pictures(page, comparison, pictures or {})
    _add(page, [block for block in found if block.title not in (CONDITIONS, "Pictures")])
    _trust(page, comparison)
    header = [
        paragraph("diffprof comparison", "made-by"),
        element("h1", title.title),
        paragraph(_lead(comparison), "lead"),
        element("ul", *(element("li", line) for line in named.lines), class_="plain about"),
    ]
    made_by = comparison.profiles[-1].environment.diffprof
    return page.html(header, f"Made with diffprof {made_by}. 1 MAC = 2 FLOPs.")


def _lead(comparison: Comparison) -> str:
    """Which of them costs how much."""
    costs = [(profile.total.macs, name) for profile, name in zip(comparison.profiles, comparison.names, strict=True)]
    (first, name), *others = costs
    if len(others) == 1:
        ((second, other),) = others
        if first == second:
            return f"{other} costs exactly as much as {name}: {numbers.macs(first)} for one generation."
        compared = f"{numbers.factor(second / first)} what {name} costs" if first else f"more than {name}"
        return f"One generation with {other} costs {compared}: {numbers.macs(second)} instead of {numbers.macs(first)}."
    (least, cheapest), (most, dearest) = min(costs), max(costs)
    times = f", {numbers.factor(most / least)} as much" if least else ""
    cost = f"{cheapest} costs least with {numbers.macs(least)} a generation"
    return f"{cost}, {dearest} most with {numbers.macs(most)}{times}."


def _conditions(page: Page, comparison: Comparison) -> None:
    """What is not the same, one row each, and what that means."""
    rows = comparison.conditions
    columns = [
        Column("what differs", [f"{row.name}\n{row.group}" for row in rows], justify="left"),
        *(
            Column(name, [value_text(row.values[number]) for row in rows], justify="left")
            for number, name in enumerate(comparison.names)
        ),
    ]
    told = {condition_text(row) for row in rows}
    page.add(
        CONDITIONS,
        *(paragraph(line) for line in may_be_compared(comparison) if line not in told),
        html_table(columns),
        link="What differs",
    )


def _add(page: Page, found: Sequence[Block]) -> None:
    for block in found:
        listed = element("ul", *(element("li", line) for line in block.lines), class_="plain")
        page.add(
            block.title,
            listed if block.lines else Markup(),
            html_table(block.columns),
            *(paragraph(line, "note") for line in block.after),
        )


def _figures(page: Page, comparison: Comparison) -> None:
    both = (comparison.profiles, comparison.names)
    page.add(
        "Side by side",
        page.tabs(
            "What is compared",
            {
                "MACs": page.chart(charts.compared_components_figure(*both), "MACs of each profile by component"),
                "shares of MACs": page.chart(
                    charts.compared_components_figure(*both, shares_of_each=True), "Share of each component"
                ),
                "parameters": page.chart(
                    charts.compared_parameters_figure(*both), "Parameters of each profile by component"
                ),
                "time": page.chart(charts.compared_component_times_figure(*both), "Time of each profile by component"),
            },
        ),
    )
    page.add("Time and its spread", page.chart(charts.compared_times_figure(*both), "Time of every iteration"))
    page.add(
        "Cost against parameters",
        page.chart(charts.cost_against_parameters_figure(*both), "MACs over parameters of each profile"),
    )
    named = zip(comparison.names, comparison.profiles, strict=True)
    # Together as many as one profile may have: the page stays small.
    most = MOST_BLOCKS // len(comparison.profiles)
    panels = {_numbered(number, name): _icicle(page, one, most) for number, (name, one) in enumerate(named, 1)}
    page.add("Where the cost goes", page.tabs("Which profile is shown", panels), link="Where it goes")


def _growth(page: Page, growth: Growth | None) -> None:
    if growth is None:
        return
    panels = {
        "size": _curves(page, growth.sizes, "pixels of the picture"),
        "steps": _curves(page, growth.steps, "denoising steps"),
    }
    if any(panels.values()):
        page.add(
            "How the cost grows",
            page.tabs("What grows", panels),
            paragraph("Each mark was counted: one of a saved profile, several of a model.", "note"),
            *(paragraph(note, "note") for note in growth.notes),
            link="Growth",
        )


def _curves(page: Page, curves: Sequence[Curve], over: str) -> Markup:
    """Nothing where all that was counted is at one place."""
    if len({place for curve in curves for place in curve.places}) < 2:
        return Markup()
    return page.chart(curves_figure(curves, over), f"MACs over the {over}")


def _numbered(number: int, name: str) -> str:
    """Two profiles may have the same name."""
    return f"{number}. {name}"


def _icicle(page: Page, profile: Profile, most: int) -> Markup:
    drawn = components_chart(profile, Measure.macs, most)
    return page.chart(drawn, "Components and their modules by MACs")


def _pictures(page: Page, comparison: Comparison, files: Mapping[str, bytes]) -> None:
    shown = []
    for difference in comparison.pictures:
        named = zip(picture_names(difference), (difference.before, difference.after), strict=True)
        both = [_picture(name, files[path]) for name, path in named if path in files]
        shown.append(join(paragraph(picture_line(difference)), element("div", *both, class_="pictures")))
    page.add("Pictures", *shown)


def _picture(name: str, data: bytes) -> Markup:
    kind = next((kind for begin, kind in _PICTURE_TYPES.items() if data.startswith(begin)), None)
    if kind is None:
        return paragraph(f"{name} is not a picture that a page can show.", "note")
    source = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return element("figure", element("img", src=source, alt=name), element("figcaption", name))


def _trust(page: Page, comparison: Comparison) -> None:
    for heading, of in (("Ledger and assumptions", _ledger), ("Request and environment", _request)):
        named = zip(comparison.names, comparison.profiles, strict=True)
        page.add(heading, *(details(name, of(profile)) for name, profile in named), link=heading.split()[0])


def _ledger(profile: Profile) -> Markup:
    return labelled_list(summary(profile, verbose=True))


def _request(profile: Profile) -> Markup:
    return join(request_html(profile), environment_html(profile))
