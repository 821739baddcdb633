"""The findings of a measured run as HTML: title, evidence, advice, and code to copy."""

from __future__ import annotations

from diffprof import catalogue
from diffprof.catalogue.bundled_model import is_bundled
from diffprof.findings import findings
from diffprof.record.profile import Profile
from diffprof.render.findings import FindingLines, finding_lines
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import code_block, paragraph


def findings_list(profile: Profile) -> Markup:
    """The findings as a list, the most important first; a sentence if there are none."""
    # The command to copy names the model only if the name is enough to open it anywhere.
    name = profile.request.model
    model = name if catalogue.find(name) is not None or is_bundled(name) else "MODEL"
    items = [_item(finding_lines(finding), model) for finding in findings(profile)]
    return element("ol", *items, class_="findings") if items else paragraph("Nothing stands out.")


def _item(lines: FindingLines, model: str) -> Markup:
    return element(
        "li",
        element("b", lines.title),
        element("span", lines.evidence, class_="evidence") if lines.evidence else Markup(),
        element("span", lines.advice) if lines.advice else Markup(),
        code_block("Python", lines.python),
        code_block("Command line", [f"diffprof run {model} {line}" for line in lines.command]),
    )
