"""Skip the conversion of values that need none.

typer converts every value with pydantic, whose import takes a quarter of the time of a short command. Strings and flags
need no conversion; all other values are still converted by typer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def skip_needless_conversions(parameters: Iterable[Any]) -> None:
    """Make typer pass on plain values as they are. Has no effect on versions of typer that convert differently."""
    for parameter in parameters:
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is None or not hasattr(parameter, "_runtime_param"):
            continue
        if getattr(descriptor.parameter_info, "parser", None) is None:
            parameter._runtime_param = _PlainValues(descriptor.annotation)


class _PlainValues:
    """Replaces the object with which typer converts the values of one parameter."""

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
