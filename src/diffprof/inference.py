"""Generate images and videos with their profile, under the names that users of the original guides know.

image, filepath, seed, profiling_data = generate_image("shapes", "a red circle on a blue background")
"""

from diffprof.generation.batch import Batch, ModelResult
from diffprof.generation.generate import generate_image, generate_images_sequential
from diffprof.generation.job import Generated
from diffprof.record.progress import ProgressCallback

__all__ = ["Batch", "Generated", "ModelResult", "ProgressCallback", "generate_image", "generate_images_sequential"]
