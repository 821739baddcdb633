"""Predict memory and time from a profile and an accelerator, without running or counting a pipeline."""
