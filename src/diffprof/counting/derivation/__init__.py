"""Derive exact laws from dry runs, and prove them on other dry runs."""
