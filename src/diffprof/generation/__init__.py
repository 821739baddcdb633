"""One generation: what was asked for, the call that a pipeline makes of it, and what becomes of the result."""
