"""Values of options that need no conversion, passed on without the library that converts the others.

typer hands every value to pydantic, whose import takes a quarter of a short command. A text for an option that takes
a text, or a switch, is already what it is to become; everything else goes typer's way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def skip_needless_conversions(parameters: Iterable[Any]) -> None:
    """Leave plain values of these parameters alone; a version of typer that converts in another way does all of it."""
    for parameter in parameters:
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is None or not hasattr(parameter, "_runtime_param"):
            continue
        if getattr(descriptor.parameter_info, "parser", None) is None:
            parameter._runtime_param = _PlainValues(descriptor.annotation)


class _PlainValues:
    """Stands where typer keeps what converts the values of one parameter."""

    def __init__(self, annotation: Any) -> None:
        self._annotation = annotation

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        is_multiple = param.multiple or param.nargs == -1
        if value is None:
            return () if is_multiple else None
        if not is_multiple and self._annotation in (str, bool) and type(value) is self._annotation:
            return value
        is_list = is_multiple and self._annotation == list[str] and isinstance(value, list | tuple)
        if is_list and all(type(one) is str for one in value):
            return list(value)
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
