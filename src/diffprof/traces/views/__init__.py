"""Explained traces as text, tables, charts, JSON and HTML."""
