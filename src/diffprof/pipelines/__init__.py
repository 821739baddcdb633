"""Opening a pipeline from the catalogue, a folder or the hub: configuration only, no weights, no foreign code."""
