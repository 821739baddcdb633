"""Time any code: sections, iterations, memory snapshots and traces. Nothing here prints or formats."""
