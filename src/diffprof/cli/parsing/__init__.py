"""Parsing that typer does not do by itself."""
