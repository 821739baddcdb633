"""Exact laws found from dry runs, and proved on others."""
