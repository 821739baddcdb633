"""What was asked and under which conditions, so that the same profile can be made again."""

from __future__ import annotations

import json
from typing import Any

from diffprof.record.profile import Profile
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.report.page import labelled_list


def request_html(profile: Profile) -> Markup:
    """The model, the arguments that were given, and those that the pipeline filled in."""
    asked = profile.request
    lines = [("Model", asked.model), ("From", asked.source), ("Pipeline", asked.pipeline)]
    lines += [("Data type", asked.dtype)] if asked.dtype else []
    lines += [("Scheduler", asked.scheduler)] if asked.scheduler else []
    lines += [("Switched on", ", ".join(asked.enable))] if asked.enable else []
    given = labelled_list([(name, format_argument(value)) for name, value in asked.arguments.items()])
    filled = labelled_list(
        [(name, format_argument(value)) for name, value in asked.defaults.items() if value is not None]
    )
    return join(
        labelled_list(lines),
        *((element("h3", "Given"), given) if given else ()),
        *((element("h3", "By default"), filled) if filled else ()),
    )


def environment_html(profile: Profile) -> Markup:
    """The versions that a count can depend on, and the device where it ran."""
    lines = list(vars(profile.environment).items())
    return join(element("h3", "Versions"), labelled_list(lines))


def format_argument(value: Any) -> str:
    """A plain value as one would type it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
