"""A sweep on the console, as a chart, as a page and for programs."""
