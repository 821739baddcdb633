"""What was found in traces, for people and programs."""
