"""Open a pipeline from the catalogue, a folder or the hub, without weights or foreign code, or load it with weights."""
