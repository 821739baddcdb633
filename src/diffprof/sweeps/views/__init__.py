"""Sweeps as tables, charts, pages and files."""
