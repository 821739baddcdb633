"""Read a trace file into columns of events."""
