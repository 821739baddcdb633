"""The findings of a measured run in a page: what was found, why, what to do, and code to copy."""

from __future__ import annotations

from diffprof.findings import findings
from diffprof.record.profile import Profile
from diffprof.render.findings import FindingLines, finding_lines
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import paragraph


def findings_list(profile: Profile) -> Markup:
    """The findings as a list, the most important first; a sentence where there are none."""
    items = [_item(finding_lines(finding)) for finding in findings(profile)]
    return element("ol", *items, class_="findings") if items else paragraph("Nothing stands out.")


def _item(lines: FindingLines) -> Markup:
    return element(
        "li",
        element("b", lines.title),
        element("span", lines.evidence, class_="evidence") if lines.evidence else Markup(),
        element("span", lines.advice) if lines.advice else Markup(),
        _code("Python", lines.python),
        _code("Command line", tuple(f"diffprof run MODEL {line}" for line in lines.command)),
    )


def _code(label: str, lines: tuple[str, ...]) -> Markup:
    """Lines of code under their label; a click selects them, and a page with scripts has a button to copy them."""
    if not lines:
        return Markup()
    code = element("pre", *(element("code", line) for line in lines))
    return element("div", element("small", label), code, class_="code")
