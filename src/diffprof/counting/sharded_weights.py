"""Weights that FSDP shards over ranks: a dry run gives each rank whole weights, as in a call, without communication.

`fully_shard` gathers the weights of a module from all ranks just before it is called. The other ranks are not in a dry
run, and a rank that requested weights from them would wait forever.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils._pytree import tree_map

from diffprof.counting.collectives import add_collective
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.errors import UncountableError
from diffprof.pipelines.components import components_of


def gather_sharded_weights(pipeline: Any, recorder: OperationRecorder) -> None:
    """Give the modules whole weights without data; the caller restores the attributes of the modules."""
    states: Any = sys.modules.get("torch.distributed.fsdp._fully_shard._fsdp_state")
    if states is None or not torch.distributed.is_initialized():
        return
    for slot, component in components_of(pipeline).items():
        for module in list(component.modules()):
            if type(module).__name__ == "FullyShardedDataParallel":
                raise UncountableError(
                    f"{slot} is wrapped by FSDP1, which gathers weights by communicating; use fully_shard, "
                    "or count the pipeline before it is wrapped"
                )
            state = states._get_module_fsdp_state(module)
            if state is not None:
                _refuse_several(slot, state)
                _gather(module, state, recorder)


def _refuse_several(slot: str, state: Any) -> None:
    if len(state._modules) > 1:
        raise UncountableError(
            f"several modules of {slot} were passed to fully_shard together, so only FSDP knows when their weights "
            "are gathered; pass them one by one, or count the pipeline first"
        )


def _gather(module: torch.nn.Module, state: Any, recorder: OperationRecorder) -> None:
    """Replace this rank's parts by whole weights, and let each call count the gathering instead of executing it."""
    parts, wholes = [], []
    for group in getattr(state, "_fsdp_param_groups", None) or [state._fsdp_param_group]:
        for weight in group.fsdp_params if group is not None else ():
            dtype = state._mp_policy.param_dtype or weight.sharded_param.dtype
            whole = torch.empty(weight._orig_size, dtype=dtype, device="meta")
            parts.append(torch.empty(weight.sharded_size, dtype=dtype, device="meta"))
            wholes.append(whole)
            _replace(weight._module_info, torch.nn.Parameter(whole, requires_grad=False))
    _remove_hooks(module, state)
    inputs, outputs = state._mp_policy.param_dtype, state._mp_policy.output_dtype

    def before(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if parts:
            add_collective(recorder, "all_gather_into_tensor", parts, wholes)
        return _cast((args, kwargs), inputs if state._mp_policy.cast_forward_inputs else None)

    module.register_forward_pre_hook(before, prepend=True, with_kwargs=True)
    module.register_forward_hook(lambda _, args, output: _cast(output, outputs))


def _cast(value: Any, dtype: torch.dtype | None) -> Any:
    """Cast floating-point tensors to the dtype that FSDP computes in, if it has one."""

    def cast(part: Any) -> Any:
        is_float = isinstance(part, torch.Tensor) and part.is_floating_point()
        return part.to(dtype) if is_float and dtype is not None else part

    return value if dtype is None else tree_map(cast, value)


def _replace(owners: Any, weight: torch.nn.Parameter) -> None:
    """Replace a weight in all modules that share it."""
    places = zip((owners.module, *owners.shared_modules), (owners.param_name, *owners.shared_param_names), strict=True)
    for owner, name in places:
        owner._parameters[name] = weight


def _remove_hooks(module: torch.nn.Module, state: Any) -> None:
    for hooks in (module._forward_pre_hooks, module._forward_hooks):
        for number, hook in list(hooks.items()):
            if getattr(hook, "__self__", None) is state:
                del hooks[number]
