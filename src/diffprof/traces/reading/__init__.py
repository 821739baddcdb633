"""From a trace file to its events as columns."""
