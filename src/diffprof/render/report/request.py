"""The request and the versions of a profile as HTML, so that it can be reproduced."""

from __future__ import annotations

import json
from typing import Any

from diffprof.record.profile import Profile
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.report.page import labelled_list
from diffprof.render.request_line import describe_changes


def request_html(profile: Profile) -> Markup:
    """The model, the arguments of the request, and the pipeline's defaults."""
    request = profile.request
    lines = [("Model", request.model), ("From", request.source), ("Pipeline", request.pipeline)]
    lines += [("Data type", request.dtype)] if request.dtype else []
    lines += [("Scheduler", request.scheduler)] if request.scheduler else []
    lines += [("Enabled", ", ".join(request.enable))] if request.enable else []
    lines += [("Changed", ", ".join(describe_changes(request.changes)))] if request.changes else []
    given = labelled_list(
        [
            (name, format_argument(value) + (" (recommended)" if name in request.recommended else ""))
            for name, value in request.arguments.items()
        ]
    )
    filled = labelled_list(
        [(name, format_argument(value)) for name, value in request.defaults.items() if value is not None]
    )
    return join(
        labelled_list(lines),
        *((element("h3", "Arguments"), given) if given else ()),
        *((element("h3", "Defaults"), filled) if filled else ()),
    )


def environment_html(profile: Profile) -> Markup:
    """The versions that a count can depend on."""
    lines = list(vars(profile.environment).items())
    return join(element("h3", "Versions"), labelled_list(lines))


def format_argument(value: Any) -> str:
    """A value as it would be typed in a call."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
