"""Predictions and advice for a generation: does it fit, how long will it take, what to change; with the views."""
