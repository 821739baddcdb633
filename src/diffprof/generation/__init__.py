"""Generate images and videos: check the request, call the pipeline, save and profile the result."""
