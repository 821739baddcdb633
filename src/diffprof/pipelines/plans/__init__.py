"""Plans of pipelines: from a name, a folder, a weight file or the hub to classes and configuration values."""
