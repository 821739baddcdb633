"""`diffprof.register_formula`: formulas for operations that diffprof does not know, or counts differently.

    def fused_rope_cost(arguments, result):
        return diffprof.OperationCost("elementwise", other_flops=3 * result.numel())

    diffprof.register_formula("my_kernels::fused_rope", fused_rope_cost)

This module imports no torch, so that code which only reads cached profiles can check for registered formulas.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from diffprof.counting.formulas.kinds import KINDS, Formula, OperationCost
from diffprof.errors import DiffprofError, RequestError

_FORMULAS: dict[str, list[Formula]] = {}
"""By name of the operation; the last registered formula is used."""
_ON_CHANGE: list[Callable[[], None]] = []


class RegisteredFormula:
    """A registered formula: in force until `remove` is called, or until the end of a ``with`` block."""

    def __init__(self, operation: str, formula: Formula) -> None:
        self.operation = operation
        self._formula = formula

    def remove(self) -> None:
        """Count the operation as before; a second call does nothing."""
        formulas = _FORMULAS.get(self.operation, [])
        if self._formula in formulas:
            formulas.remove(self._formula)
            if not formulas:
                del _FORMULAS[self.operation]
            _clear_costs()

    def __enter__(self) -> RegisteredFormula:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<formula of {self.operation}>"


def register_formula(operation: Any, formula: Formula) -> RegisteredFormula:
    """Count an operation with your own formula, in every profile from now on.

    `operation` is a name (``"my_kernels::fused_rope"``, or with its overload ``"aten::add.Tensor"``) or the operation
    itself (``torch.ops.my_kernels.fused_rope``, or what `torch.library.custom_op` returns). `formula` is called with
    the positional arguments and the result of the operation, as tensors without data, and returns an `OperationCost`.
    The in-place variant of an operation has the same formula. The formula is in force until it is removed.
    """
    if not callable(formula):
        raise RequestError(f"a formula is a function of (arguments, result), not a {type(formula).__name__}")
    name = _name(operation)
    checked = _with_checks(name, formula)
    _FORMULAS.setdefault(name, []).append(checked)
    _clear_costs()
    return RegisteredFormula(name, checked)


def registered_formula(operation: Any) -> Formula | None:
    """Return the registered formula of an ATen overload, or of all overloads of its operation."""
    if not _FORMULAS:
        return None
    schema = getattr(operation, "_schema", None)
    if schema is None:
        return None
    overload = schema.overload_name or "default"
    for name in (schema.name, _without_underscore(schema.name)):
        for key in (f"{name}.{overload}", name):
            if key in _FORMULAS:
                return _FORMULAS[key][-1]
    return None


def registered_operations() -> tuple[str, ...]:
    """Return the operations with a registered formula; profiles with them are valid only in this process."""
    return tuple(sorted(_FORMULAS))


def call_on_change(clear: Callable[[], None]) -> None:
    """Call `clear` whenever a formula is registered or removed, because cached costs are outdated then."""
    _ON_CHANGE.append(clear)


def _clear_costs() -> None:
    for clear in _ON_CHANGE:
        clear()


def _name(operation: Any) -> str:
    schema: Any = getattr(operation, "_schema", None)
    if hasattr(schema, "overload_name"):  # an overload: torch.ops.aten.add.Tensor
        return f"{schema.name}.{schema.overload_name or 'default'}"
    name = getattr(operation, "_qualified_op_name", None) or getattr(operation, "_qualname", None) or operation
    if not isinstance(name, str) or not re.fullmatch(r"\w+::\w+(\.\w+)?", name):
        raise RequestError(
            f"{operation!r} is not an operation; give a name such as 'my_kernels::fused_rope', or torch.ops.aten.mm"
        )
    return name


def _without_underscore(name: str) -> str:
    """``aten::add_`` -> ``aten::add``: the in-place variant costs the same."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _with_checks(name: str, formula: Formula) -> Formula:
    @functools.wraps(formula)
    def cost(arguments: Sequence[Any], result: Any) -> OperationCost:
        try:
            cost = formula(arguments, result)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise DiffprofError(f"the registered formula of {name} failed ({reason})") from error
        if not isinstance(cost, OperationCost):
            raise DiffprofError(f"the registered formula of {name} returned {cost!r}; return a diffprof.OperationCost")
        if cost.kind not in KINDS:
            raise DiffprofError(f"the formula of {name} has the kind {cost.kind!r}; there are {', '.join(KINDS)}")
        if any(not isinstance(count, int) or count < 0 for count in (cost.macs, cost.other_flops)):
            raise DiffprofError(f"the registered formula of {name} returned {cost!r}; counts are integers from 0")
        return cost

    return cost
