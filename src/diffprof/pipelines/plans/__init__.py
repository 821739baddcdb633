"""Plans of pipelines: classes and configuration values from a name, a folder, a weight file or the hub."""
