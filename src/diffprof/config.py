"""The settings, under the name that users of the original guides know: this is the module `diffprof.settings` itself.

diffprof.config.DEFAULT_STEPS = 20
"""

import sys
from typing import TYPE_CHECKING

from diffprof import settings as _settings

if TYPE_CHECKING:
    from diffprof.settings import *  # noqa: F403

# The module itself, not a copy of its names: what a program sets here must be seen by everything that reads settings.
sys.modules[__name__] = _settings
