"""Before and after a change: what differs, and whether a difference in time is real.

python examples/before_and_after.py
"""

from __future__ import annotations

import diffprof
from diffprof.model_manager import get_model_manager


def main(iterations: int = 8) -> None:
    """Measure the bundled model with two numbers of steps, and compare the runs."""
    pipe = get_model_manager().load_model("shapes")
    prompt = "a red circle on a blue background"
    before = diffprof.measure(pipe, prompt=prompt, num_inference_steps=8, iterations=iterations).profile
    after = diffprof.measure(pipe, prompt=prompt, num_inference_steps=4, iterations=iterations).profile
    print(before.compare(after))
    before.save("before.json")
    after.save("after.json")  # diffprof compare before.json after.json


if __name__ == "__main__":
    main()
