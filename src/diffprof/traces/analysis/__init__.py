"""From what was found in traces to what it means: a checklist, the difference of two, the ranks of several."""
