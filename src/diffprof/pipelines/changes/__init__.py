"""Changes to a pipeline before it is called: adapters, quantization, attention, step caches; virtual or real."""
