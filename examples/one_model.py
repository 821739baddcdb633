"""What one generation costs: exact counts, without weights and without a GPU.

python examples/one_model.py [MODEL]
"""

from __future__ import annotations

import sys

import diffprof


def main(model: str = "shapes") -> None:
    """Count one generation with the model's recommended settings."""
    profile = diffprof.profile(model)
    print(profile)  # the table of `diffprof profile MODEL`
    print(f"{profile.total.macs:,} MACs, {profile.total.parameters:,} parameters")


if __name__ == "__main__":
    main(*sys.argv[1:2])
