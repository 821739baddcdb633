"""Comparisons as text, tables, charts, JSON and HTML."""
