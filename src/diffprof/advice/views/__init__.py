"""The results of fit, predict and advise as text, tables, charts and HTML."""
