"""From a profile to what people and programs read. The only layer that formats numbers."""
