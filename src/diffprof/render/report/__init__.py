"""A profile as one self-contained HTML page."""
