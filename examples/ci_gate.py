"""A gate for CI: fails if a generation costs more than the baseline allows.

python examples/ci_gate.py baseline.json     makes the baseline if there is none
"""

from __future__ import annotations

import sys
from pathlib import Path

import diffprof
from diffprof.comparison.gate import gate_profiles


def main(baseline: str = "baseline.json") -> int:
    """The exit code of the gate: 0 for kept limits, 1 for an exceeded one, 3 for too noisy to tell."""
    candidate = diffprof.profile("shapes", num_inference_steps=8)
    if not Path(baseline).exists():
        candidate.save(baseline)
        print(f"Made {baseline}; commit it.")
        return 0
    gate = gate_profiles(diffprof.load(baseline), candidate, "macs=+0%,peak_memory=+5%")
    print(gate.outcome)
    return gate.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
