"""Values of one form, merged into a template."""

from __future__ import annotations

import pytest

from diffprof.laws.templates import DifferentForms, TemplateBuilder, TemplateMerger


def test_merged_values_come_out_again_with_the_numbers_of_each() -> None:
    values = [{"size": (n, 4), "text": f"image {n}x4", "flag": True, "one": 1} for n in (64, 72)]
    builder = TemplateBuilder()
    root = builder.merge(values)
    assert list(builder.vectors) == [(64, 72)]
    merger = TemplateMerger()
    place = merger.add(builder.node_list, [0])[root]
    template = merger.template()
    assert [template.fill(merger.number(place), [n], {}) for n in (64, 72)] == values


def test_true_and_one_stay_apart() -> None:
    builder = TemplateBuilder()
    assert builder.merge([1]) != builder.merge([True])


def test_values_of_different_forms_are_refused_with_the_place() -> None:
    with pytest.raises(DifferentForms, match=r"calls\.1"):
        TemplateBuilder().merge([{"calls": (1, (2,))}, {"calls": (1, (2, 3))}])
