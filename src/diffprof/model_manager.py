"""Models with their weights, loaded once, under the names that users of the original guides know.

manager = get_model_manager()
pipe = manager.load_model("shapes")
"""

from diffprof.generation.models import LoadedModel, ModelManager, get_model_manager

__all__ = ["LoadedModel", "ModelManager", "get_model_manager"]
