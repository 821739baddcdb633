"""Choose the attention backend by its name in diffusers."""

from __future__ import annotations

import difflib
from typing import Any

from diffprof.errors import RequestError, first_line
from diffprof.pipelines.components import components_of, role_of


def choose_attention(pipeline: Any, backend: str, for_real: bool = False) -> list[str]:
    """Let the denoisers use the backend; unless it is run `for_real`, it need not be installed."""
    from diffusers.models import attention_dispatch

    known = [str(name.value) for name in attention_dispatch.AttentionBackendName]
    name = backend.lower().replace("-", "_")
    if name not in known:
        shown = [one for one in known if not one.startswith("_")]
        hints = difflib.get_close_matches(name, known, n=2)
        hint = f"did you mean {' or '.join(hints)}?" if hints else f"diffusers has {', '.join(shown)}."
        raise RequestError(f"unknown attention backend {backend!r}; {hint}")
    able = {
        slot: part
        for slot, part in components_of(pipeline).items()
        if role_of(slot, part) == "denoiser" and hasattr(part, "set_attention_backend")
    }
    if not able:
        raise RequestError(f"the attention backend of {type(pipeline).__name__} cannot be chosen")
    if for_real:
        try:
            for part in able.values():
                part.set_attention_backend(name)  # type: ignore[operator]
        except Exception as error:
            raise RequestError(f"attention cannot be computed by {name} here: {first_line(error)}") from error
    return [f"attention is computed by {name}: the same products, whatever its kernel does with them"]
