"""A profile and an accelerator in, memory and time out: nothing here runs or counts a pipeline."""
