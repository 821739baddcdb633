"""Where the cost goes: by component, by module, by kind of work and by attention layer.

python examples/breakdown.py [MODEL]
"""

from __future__ import annotations

import sys

import diffprof
from diffprof.breakdown.attention import attention_table
from diffprof.breakdown.kinds import kind_table
from diffprof.breakdown.modules import module_table


def main(model: str = "shapes") -> None:
    """Print the largest rows of each breakdown."""
    profile = diffprof.profile(model)
    for name, component in profile.components.items():
        print(f"{name:16} {component.calls:4} calls {component.macs:20,} MACs")
    print("\nmodules")
    for module in sorted(module_table(profile, depth=2), key=lambda row: -row.macs)[:8]:
        print(f"{module.component}.{module.path:30} {module.macs:20,}")
    print("\nkinds of work")
    for kind in kind_table(profile):
        print(f"{kind.kind:20} {kind.macs:20,}")
    print("\nattention")
    for row in attention_table(profile)[:5]:
        site = row.site
        print(f"{site.relation:6} {site.query_tokens} x {site.key_tokens} tokens {row.macs:20,}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
