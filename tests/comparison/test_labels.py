"""Labels are short, and no two are alike."""

from __future__ import annotations

from diffprof.comparison.labels import distinct_labels


def test_labels_have_as_many_folders_as_make_them_distinct() -> None:
    assert distinct_labels(["a/p.json", "b/p.json.gz", "sdxl"]) == ["a/p", "b/p", "sdxl"]
    assert distinct_labels(["p.json", "q.profile.json"]) == ["p", "q"]
    assert distinct_labels(["sdxl", "sdxl"]) == ["sdxl (1)", "sdxl (2)"]
